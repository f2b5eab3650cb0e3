"""However a broker's life goes, nothing of it is left, and nobody waits for its end."""

from __future__ import annotations

import gc
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.testing import Broker, BrokerFailed
from tests.kafka.client import RawClient

CLOSES_S, CLOSES_CLEANLY_S = 0.1, 0.3
"""What a close may take, and one that syncs a directory; the least of several, because the machine may have other
things to do."""
PATIENCE_S = 20


def broker_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("broker at")]


def is_refused(address: tuple[str, int]) -> bool:
    try:
        socket.create_connection(address).close()
    except ConnectionRefusedError:
        return True
    return False


def first_answer(broker: Broker) -> None:
    with RawClient(broker.host, broker.port) as client:
        assert client.ask(ApiVersionsRequest(), 0, ApiVersionsResponse).error_code == 0


def test_several_at_a_time_each_with_its_own_data() -> None:
    def life(number: int) -> list[str | None]:
        with Broker() as broker:
            first_answer(broker)
            broker.produce("mine", str(number))
            return [record.text for record in broker.records("mine")]

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(life, range(12))) == [[str(number)] for number in range(12)]
    assert not broker_threads()


def test_one_may_be_asked_by_several_threads() -> None:
    with Broker() as broker, ThreadPoolExecutor(8) as threads:
        broker.create_topic("ours")
        list(threads.map(lambda number: broker.produce("ours", str(number)), range(100)))
        assert sorted(int(record.text or "") for record in broker.records("ours")) == list(range(100))


def test_an_exception_inside_passes_through_and_the_broker_ends() -> None:
    with pytest.raises(ZeroDivisionError), Broker() as broker:
        address = broker.host, broker.port
        raise ZeroDivisionError
    assert is_refused(address)
    assert not broker_threads()
    broker.close()  # once more does no harm


@pytest.mark.parametrize("trouble", ["waiting", "ignored", "delayed", "paused", "not reading"])
def test_closing_waits_for_nobody(trouble: str) -> None:
    assert min(_close_s(trouble, None) for _ in range(3)) < CLOSES_S
    assert not broker_threads()


@pytest.mark.parametrize("trouble", ["paused", "not reading"])
def test_closing_a_directory_waits_for_the_disk_alone(trouble: str, tmp_path: Path) -> None:
    assert min(_close_s(trouble, tmp_path / str(turn)) for turn in range(2)) < CLOSES_CLEANLY_S


def _close_s(trouble: str, directory: Path | None) -> float:
    broker = Broker(data_dir=directory).start()
    broker.produce("orders", bytes(900_000))
    broker.produce("orders", bytes(900_000))
    topic_id = broker._embedded.do(lambda host: host.node.image.topics.by_name["orders"].id)
    if trouble == "ignored":
        broker.ignore_next("Fetch")
    elif trouble == "delayed":
        broker.delay_next("Fetch", 60)
    elif trouble == "paused":
        broker.pause()
    offset, times = (0, 20) if trouble == "not reading" else (2, 1)
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 21)
    topic = FetchTopic(topic_id=topic_id, partitions=[partition])
    fetch = FetchRequest(max_wait_ms=60_000, min_bytes=1, session_epoch=-1, max_bytes=1 << 21, topics=[topic])
    with RawClient(broker.host, broker.port) as client:
        for _ in range(times):
            client.send(fetch, 18)
        deadline_s = time.monotonic() + PATIENCE_S
        while not broker.requests("Fetch"):
            assert time.monotonic() < deadline_s
        began_s = time.monotonic()
        broker.close()
        return time.monotonic() - began_s


def test_one_that_nobody_has_any_more_ends() -> None:
    broker = Broker().start()
    address = broker.host, broker.port
    first_answer(broker)
    (thread,) = [thread for thread in threading.enumerate() if thread.name.startswith("broker at")]
    del broker
    gc.collect()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    assert is_refused(address)


def test_a_broker_that_failed_says_why_and_can_be_closed() -> None:
    with Broker() as broker:
        broker._embedded.do(lambda host: host.node.fail("its disk is on fire"))
        broker._embedded.carry_out(lambda host: host._ended.wait())
        with pytest.raises(BrokerFailed, match="the broker is down: its disk is on fire"):
            broker.topics()
        assert "its disk is on fire" in broker.report()


def test_of_a_fault_of_its_own_a_broker_has_the_traceback() -> None:
    async def fail() -> None:
        raise ZeroDivisionError("in a task")

    with Broker() as broker:
        broker._embedded.do(lambda host: host.node.start_soon(fail))
        broker._embedded.carry_out(lambda host: host._ended.wait())
        told = r"the broker is down: a fault of its own, ZeroDivisionError\('in a task'\); events\(\) has the traceback"
        with pytest.raises(BrokerFailed, match=told):
            broker.topics()
        assert "in fail\n" in broker.events()[-1]
        broker.start()
        assert broker.topics() == {}


FORGOTTEN = """
import sys
from barnabas.testing import Broker
broker = Broker(data_dir=sys.argv[1]).start()
broker.produce("orders", "value")
"""


def test_a_program_that_forgets_to_close_ends_all_the_same_and_cleanly(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORGOTTEN, tmp_path], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    # The first releases of 3.12 begin no thread any more at the end, and the directory is left as by a kill.
    assert (tmp_path / ".kafka_cleanshutdown").exists() or sys.version_info[:2] == (3, 12)


INTERRUPTED = """
import signal, sys, threading
from barnabas.testing import Broker
try:
    with Broker() as broker:
        print("ready", flush=True)
        broker.wait_for("nothing", timeout=60)
except KeyboardInterrupt:
    left = [thread.name for thread in threading.enumerate() if thread.name.startswith("broker")]
    print("interrupted", left, flush=True)
"""


def test_ctrl_c_while_a_test_waits_ends_both() -> None:
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "interrupted []\n"
    assert process.wait(PATIENCE_S) == 0
    process.stdout.close()


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="a fork of a process with threads is warned of")
def test_a_forked_process_may_use_the_port_and_disturbs_nobody() -> None:
    with Broker() as broker:
        with RawClient(broker.host, broker.port) as client:
            assert client.ask(ApiVersionsRequest(), 0, ApiVersionsResponse).error_code == 0
            child = os.fork()
            if child == 0:
                os._exit(_forked(broker))
            assert os.waitpid(child, 0)[1] == 0
            request = MetadataRequest(topics=[MetadataRequestTopic(name="orders")])
            client.send(request, 9)
        assert broker.records("orders") == []


def _forked(broker: Broker) -> int:
    """In the child, where pytest has nothing to say."""
    try:
        broker.topics()
    except BrokerFailed as error:
        if "from which this one was forked" not in str(error):
            return 1
    else:
        return 2
    broker._embedded.close()
    from kafka import KafkaAdminClient

    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    admin.create_topics({"orders": {"num_partitions": 1, "replication_factor": 1}})
    admin.close()
    return 0


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="a fork of a process with threads is warned of")
def test_a_broker_that_is_closed_is_gone_for_clients_while_a_forked_process_lives() -> None:
    broker = Broker().start()
    address = broker.host, broker.port
    with RawClient(broker.host, broker.port) as client:
        assert client.ask(ApiVersionsRequest(), 0, ApiVersionsResponse).error_code == 0
        end, child_end = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(child_end)
            os.read(end, 1)  # until the parent has done
            os._exit(0)
        broker.close()
        with pytest.raises(ConnectionError):
            client.ask(ApiVersionsRequest(), 0, ApiVersionsResponse)
        assert is_refused(address)
        os.close(child_end)
        assert os.waitpid(child, 0)[1] == 0
        os.close(end)
