"""Bytes at rest: a partition's log in Kafka's own file layout, and the directory of all logs. Pure and synchronous."""
