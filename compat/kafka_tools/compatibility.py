"""ClientCompatibilityTest."""

from __future__ import annotations

from compat.checks import Stage
from compat.kafka_tools.checking import check_tools
from compat.kafka_tools.tools import Tools

SUPPORTED = (
    "offsets-for-times",
    "cluster-id",
    "create-topics",
    "describe-acls",
    "describe-configs",
    "idempotent-producer",
)


def compatibility(topic: str, *, lacking: str = "", nodes: int = 1, too_large: bool = False) -> list[str]:
    flags = {f"--{each}-supported": str(each != lacking).lower() for each in SUPPORTED}
    flags |= {"--expect-record-too-large-exception": str(too_large).lower(), "--num-cluster-nodes": str(nodes)}
    return ["--topic", topic, *(word for each in flags.items() for word in each)]


@check_tools("connect: what ClientCompatibilityTest is told to find it finds, and nothing else")
def finds_what_is_there(tools: Tools, stage: Stage) -> None:
    """It finds what it is told to find, and fails for each thing that it is told not to find."""

    def attempt(number: int, **wanted: object) -> tuple[int, str]:
        tools.run("TopicCommand", "--delete", "--topic", "newtopic", "--if-exists")
        topic = f"{stage.name}-{number}"
        tools.run("TopicCommand", "--create", "--topic", topic)
        code, out, err = tools.attempt("ClientCompatibilityTest", *compatibility(topic, **wanted))  # type: ignore[arg-type]
        return code, err + out  # its verdict is the last line

    code, said = attempt(0)
    assert (code, said.splitlines()[-1]) == (0, "SUCCESS."), said
    unexpected = {
        "offsets-for-times": "Did not expect offsetsForTimes to be supported, but it was.",
        "create-topics": "Did not expect createTopics to be supported, but it was.",
        "describe-acls": "Did not expect describeAclsSupported to be supported, but it was.",
        "describe-configs": "Did not expect describeConfigsSupported to be supported, but it was.",
    }
    for number, (feature, message) in enumerate(unexpected.items(), 1):
        code, said = attempt(number, lacking=feature)
        assert (code, message in said) == (1, True), said
    code, said = attempt(5, too_large=True)
    assert code == 1
    assert "Expected to get a RecordTooLargeException" in said
    code, said = attempt(6, lacking="idempotent-producer")
    assert code == 0, "that one is not idempotent, and works as well"
