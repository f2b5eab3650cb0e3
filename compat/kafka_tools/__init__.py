"""Kafka's own command line tools: what they are called with every day, and what they print."""
