"""Every API that this broker speaks, one file each. It is imported when the first request of its kind comes."""

MODULES = {
    0: "produce",
    1: "fetch",
    2: "list_offsets",
    3: "metadata",
    18: "api_versions",
    19: "create_topics",
    20: "delete_topics",
    22: "init_producer_id",
    60: "describe_cluster",
}
