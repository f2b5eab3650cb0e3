"""`barnabas storage`: what kafka-storage.sh does: formatting log directories, and looking at whose they are.

node_files.py   what a server.properties says of a node's directories and of its quorum
formatting.py   what is written into them; voters.py, scram.py the options that have a form of their own
format.py, info.py, random_uuid.py, version_mapping.py, feature_dependencies.py   the commands
"""
