"""Records go through client libraries that others keep: kafka-python, and confluent-kafka where it is installed.

Both look the same from here: `producing.RecordProducer` and `consuming.RecordConsumer`. `settings` translates Kafka's
properties, `words` makes errors sentences, and `quiet` keeps from the terminal what a library logs.
"""
