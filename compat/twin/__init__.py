"""Two brokers that are asked the same, and whose answers are compared field by field."""
