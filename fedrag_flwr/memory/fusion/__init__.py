"""The memories of all devices as one bank: equal ones merged, floods cut, and a change costs what it touches."""
