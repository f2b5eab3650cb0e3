"""What the records of `__cluster_metadata` say: the cluster as every node of it knows it.

Read in this order:

records.py            one record and the version it is written in; its bytes
image.py              the cluster, record by record; delta.py what a batch of them changed
topics.py, partition.py, broker.py, configs.py, quotas.py, security.py   its parts
metadata_version.py   which record versions older clusters can read; features.py the other features
snapshot_records.py   the image as records again; snapshot_file.py the file that holds them
bootstrap.py          what `kafka-storage format` writes; log_batch.py batches of the log; quorum_state.py who votes
"""
