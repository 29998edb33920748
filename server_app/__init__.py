"""The Flower ServerApp: a run's plan, its strategies and its results."""
