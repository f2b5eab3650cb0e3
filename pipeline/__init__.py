"""PySpark jobs around a Kafka cluster: topics into a lake, feeds out of it, and an audit that adds up."""
