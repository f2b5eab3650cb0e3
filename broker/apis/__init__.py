"""Every API that this broker speaks, one file each. It is imported when the first request of its kind comes."""

MODULES = {
    0: "produce",
    18: "api_versions",
}
