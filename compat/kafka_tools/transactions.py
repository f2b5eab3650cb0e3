"""TransactionalMessageCopier: each record once, though transactions are aborted on the way."""

from __future__ import annotations

from compat.checks import Stage, equal
from compat.kafka_tools.checking import check_tools, create
from compat.kafka_tools.records import consume
from compat.kafka_tools.tools import Tools, Verifiable
from tests.clients.waiting import wait_until
from tests.kafka.classpath import find_classpath

COUNT = 200


@check_tools("transactions: TransactionalMessageCopier copies each record once, though it aborts now and then")
def copier(tools: Tools, stage: Stage) -> None:
    source, target = f"{stage.name}-from", f"{stage.name}-to"
    create(tools, source)
    create(tools, target)
    numbers = [str(number) for number in range(COUNT)]
    tools.run("ConsoleProducer", "--topic", source, stdin="\n".join(numbers) + "\n")
    copying = Verifiable(
        find_classpath(),
        stage.directory / "copier.log",
        "TransactionalMessageCopier",
        *("--broker-list", stage.bootstrap, "--input-topic", source, "--input-partition", "0"),
        *("--output-topic", target, "--transactional-id", stage.name, "--consumer-group", stage.name),
        *("--transaction-size", "20", "--enable-random-aborts"),
    )
    stage.until_the_end.callback(copying.end, kill=True)
    wait_until(lambda: copying.process.poll() is not None, "the copier to end", 20)
    equal(copying.process.returncode, 0)
    committed_only = ("--from-beginning", "--isolation-level", "read_committed")
    equal(consume(tools, target, COUNT, *committed_only), numbers)
