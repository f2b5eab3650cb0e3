"""The configuration of a node: Kafka's server.properties, with Kafka's keys, defaults, units and checks."""
