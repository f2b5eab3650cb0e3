"""What a node tells Prometheus of itself: barnabas.metrics.listen=HOST:PORT, and then GET /metrics."""
