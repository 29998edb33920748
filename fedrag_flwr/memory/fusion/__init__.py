"""The memories of all devices as one shared memory: equal ones merged, floods cut; a change costs what it touches."""
