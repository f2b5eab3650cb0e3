"""`barnabas cluster reassign`: what kafka-reassign-partitions.sh does."""
