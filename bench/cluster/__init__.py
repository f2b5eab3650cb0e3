"""The same work on three Barnabas nodes and on three Apache Kafka nodes, in turns: `python -m bench.cluster`."""
