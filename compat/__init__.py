"""Other people's clients and Apache Kafka itself, beside a broker under test. Nothing here imports Barnabas."""
