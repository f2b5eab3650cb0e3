"""`barnabas verify-replicas`: whether the replicas of partitions have the same, over the network or on disks."""
