"""`barnabas perf produce | consume | latency`: how fast records go in and out, counted as Kafka's own tools count."""
