"""Decisions of the controller of a KRaft cluster."""
