"""`barnabas acls`: what kafka-acls.sh does, on any Kafka cluster that keeps ACLs."""
