"""The same checks for each client that has an adapter: `python -m compat.rounds CLIENT HOST:PORT [--quick]`."""
