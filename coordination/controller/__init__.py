"""What the controller of the cluster decides, as Apache Kafka 4.3.1 decides it.

Every decision is a function of the controller's state, a request, and what else it needs as values: random ids, a seed,
the time. It changes nothing; `Controller.apply` does, with the records that also load the state.

state.py         the controller: the image of the cluster, and what it remembers of each broker's heartbeats
activation.py    the first records of a new cluster; what is left to clean up in an old one
registration.py, heartbeat.py, stale_brokers.py, unregister_broker.py, controller_registration.py   nodes come and go
create_topics.py, delete_topics.py, create_partitions.py      with placement.py, assignment.py, topic_names.py
partition_change.py   how one partition changes: elections, ISR, reassignment; leadership.py what follows for many
elect_leaders.py, reassignments.py, alter_partition.py, replica_directories.py, leader_balance.py
incremental_alter_configs.py, alter_configs.py   with config_change.py, config_requests.py and config_rules.py
client_quotas.py, describe_client_quotas.py, update_features.py, producer_ids.py, describe_cluster.py
"""
