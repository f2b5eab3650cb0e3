"""`barnabas transactions`: what kafka-transactions.sh does, on any Kafka cluster."""
