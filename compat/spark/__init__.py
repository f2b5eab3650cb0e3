"""PySpark's Kafka source and sink."""
