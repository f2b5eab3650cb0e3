"""Sockets out: a connection to any Kafka broker, and the cluster behind it. For what no client library offers."""
