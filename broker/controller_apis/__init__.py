"""Every API that the controller's listeners speak; those that are the same at both doors lie in ../apis."""

MODULES = {
    18: "api_versions",
    55: "describe_quorum",
    60: "describe_cluster",
}
