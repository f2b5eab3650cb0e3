"""Kafka's protocol as plain values, read off the schemas in Kafka's own jar: for whoever asks brokers and compares."""
