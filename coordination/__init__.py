"""Decisions, as pure functions: groups, the controller, and what else of the broker's state is kept as a log."""
