"""`barnabas cluster`: what is the whole cluster's, on any Kafka cluster."""
