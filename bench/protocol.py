"""The codec beside kio 0.6.5, in one run: `make bench-protocol` prints the table of docs/PERFORMANCE.md; with --smoke,
in a second, only that it can.

A row is what a broker does for one request: decode it, and encode its answer. Both sides get the same bytes and write
the same bytes, which is asserted. Rounds alternate between the two, and the best round of each counts, since this is
about the code and not about what else the machine does. Decoding and encoding are also shown apart.
"""

from __future__ import annotations

import io
import json
import platform
import subprocess
import sys
import timeit
from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version as installed

from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.codec import decode, encode
from barnabas.protocol.messages import fetch, metadata, offset_commit, produce
from barnabas.protocol.record import Record
from barnabas.protocol.schema import Message, Uuid
from bench.sound import sound

TOPIC_ID = Uuid(range(1, 17))

Measure = Callable[[], object]


@dataclass
class Case:
    name: str
    version: int
    request: Message
    response: Message


def cases() -> list[Case]:
    batch = build_batch([Record(value=bytes(1_000), timestamp=1_700_000_000_000)])
    return [
        Case(
            "Produce, 4 partitions",
            13,
            produce.ProduceRequest(
                acks=-1,
                timeout_ms=30_000,
                topic_data=[
                    produce.TopicProduceData(
                        topic_id=TOPIC_ID,
                        partition_data=[produce.PartitionProduceData(index=i, records=batch) for i in range(4)],
                    )
                ],
            ),
            produce.ProduceResponse(
                responses=[
                    produce.TopicProduceResponse(
                        topic_id=TOPIC_ID,
                        partition_responses=[
                            produce.PartitionProduceResponse(index=i, base_offset=1_000 + i, log_start_offset=0)
                            for i in range(4)
                        ],
                    )
                ]
            ),
        ),
        Case(
            "Fetch, 4 partitions",
            17,
            fetch.FetchRequest(
                max_wait_ms=500,
                min_bytes=1,
                topics=[
                    fetch.FetchTopic(
                        topic_id=TOPIC_ID,
                        partitions=[
                            fetch.FetchPartition(partition=i, fetch_offset=1_000, partition_max_bytes=1 << 20)
                            for i in range(4)
                        ],
                    )
                ],
            ),
            fetch.FetchResponse(
                session_id=7,
                responses=[
                    fetch.FetchableTopicResponse(
                        topic_id=TOPIC_ID,
                        partitions=[
                            fetch.PartitionData(
                                partition_index=i,
                                high_watermark=1_001,
                                last_stable_offset=1_001,
                                log_start_offset=0,
                                aborted_transactions=[],
                                records=batch,
                            )
                            for i in range(4)
                        ],
                    )
                ],
            ),
        ),
        Case(
            "Metadata, 1,000 partitions",
            13,
            metadata.MetadataRequest(topics=[metadata.MetadataRequestTopic(name="orders")]),
            metadata.MetadataResponse(
                brokers=[metadata.MetadataResponseBroker(node_id=i, host="localhost", port=9092 + i) for i in range(3)],
                cluster_id="AAECAwQFBgcICQoLDA0ODw",
                controller_id=1,
                topics=[
                    metadata.MetadataResponseTopic(
                        name="orders",
                        topic_id=TOPIC_ID,
                        partitions=[
                            metadata.MetadataResponsePartition(
                                partition_index=i,
                                leader_id=i % 3,
                                leader_epoch=4,
                                replica_nodes=[0, 1, 2],
                                isr_nodes=[0, 1, 2],
                            )
                            for i in range(1_000)
                        ],
                    )
                ],
            ),
        ),
        Case(
            "OffsetCommit, 20 partitions",
            9,
            offset_commit.OffsetCommitRequest(
                group_id="group",
                generation_id_or_member_epoch=3,
                member_id="consumer-1-7f9a",
                topics=[
                    offset_commit.OffsetCommitRequestTopic(
                        name="orders",
                        partitions=[
                            offset_commit.OffsetCommitRequestPartition(
                                partition_index=i, committed_offset=1_000, committed_metadata=""
                            )
                            for i in range(20)
                        ],
                    )
                ],
            ),
            offset_commit.OffsetCommitResponse(
                topics=[
                    offset_commit.OffsetCommitResponseTopic(
                        name="orders",
                        partitions=[offset_commit.OffsetCommitResponsePartition(partition_index=i) for i in range(20)],
                    )
                ]
            ),
        ),
    ]


def measures(case: Case) -> tuple[dict[str, Measure], dict[str, Measure]]:
    """For us and for kio: how to decode the request, and how to encode the response."""
    key, version = case.request.__definition__.key, case.version
    request_bytes, response_bytes = encode(case.request, version), encode(case.response, version)
    read_request = entity_reader(load_request_schema(key, version))
    response_class = load_response_schema(key, version)
    their_response, _ = entity_reader(response_class)(response_bytes, 0)
    write_response = entity_writer(response_class)

    def kio_encode() -> bytes:
        buffer = io.BytesIO()
        write_response(buffer, their_response)
        return buffer.getvalue()

    request_class = type(case.request)
    response = decode(type(case.response), version, response_bytes)
    assert decode(request_class, version, request_bytes) == case.request
    assert kio_encode() == encode(response, version) == response_bytes
    ours: dict[str, Measure] = {
        "decode": lambda: decode(request_class, version, request_bytes),
        "encode": lambda: encode(response, version),
    }
    theirs: dict[str, Measure] = {"decode": lambda: read_request(request_bytes, 0), "encode": kio_encode}
    return ours, theirs


def best_us(sides: tuple[Measure, Measure], rounds: int, seconds_a_round: float) -> tuple[float, float]:
    """Microseconds of one call, for both, in alternating rounds."""
    timers = [timeit.Timer(side) for side in sides]
    counts = [max(1, int(seconds_a_round / max(timer.timeit(1), 1e-6))) for timer in timers]
    best = [float("inf")] * 2
    for _ in range(rounds):
        for index, timer in enumerate(timers):
            best[index] = min(best[index], timer.timeit(counts[index]) / counts[index] * 1e6)
    return best[0], best[1]


IMPORTS = {
    "barnabas.protocol: frames, batches, record": (
        "import barnabas.protocol.frames, barnabas.protocol.batches, barnabas.protocol.record"
    ),
    "kio: serial, index, records": "import kio.serial, kio.index, kio.records.readers",
    "trio, for scale": "import trio",
}
IN_A_NEW_PYTHON = """
import json, time
def resident_kb(): return int(next(line for line in open("/proc/self/status") if "VmRSS" in line).split()[1])
before, began = resident_kb(), time.perf_counter()
{code}
took = time.perf_counter() - began
print(json.dumps([took * 1e3, (resident_kb() - before) / 1024]))
"""


def imported(code: str, runs_wanted: int) -> tuple[float, float]:
    """Milliseconds and megabytes that an import takes in a new process, at the best."""
    runs = []
    for _ in range(runs_wanted):
        command = [sys.executable, "-c", IN_A_NEW_PYTHON.format(code=code)]
        runs.append(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))
    return min(run[0] for run in runs), min(run[1] for run in runs)


def main() -> None:
    parser = ArgumentParser()
    parser.add_argument("--smoke", action="store_true", help="one short round of everything")
    is_smoke = parser.parse_args().smoke
    rounds, seconds_a_round, runs = (1, 0.001, 1) if is_smoke else (15, 0.02, 10)
    print(f"CPython {platform.python_version()}, kio {installed('kio')}, {platform.machine()}\n")
    print("| microseconds | ours: decode | encode | both | kio: decode | encode | both | kio / ours |")
    print("|---|---|---|---|---|---|---|---|")
    for case in cases():
        ours, theirs = measures(case)
        decode_us, encode_us = (
            best_us((ours[part], theirs[part]), rounds, seconds_a_round) for part in ("decode", "encode")
        )
        both = [decode_us[side] + encode_us[side] for side in (0, 1)]
        row = [decode_us[0], encode_us[0], both[0], decode_us[1], encode_us[1], both[1]]
        sound(case.name, *row)
        print(
            f"| {case.name} v{case.version} | {' | '.join(f'{value:.1f}' for value in row)} | {both[1] / both[0]:.1f} |"
        )
    print("\n| import, in a new process | ms | MB |\n|---|---|---|")
    for name, code in IMPORTS.items():
        milliseconds, megabytes = imported(code, runs)
        sound(name, milliseconds, megabytes)
        print(f"| {name} | {milliseconds:.0f} | {megabytes:.1f} |")
    everything = "\n".join(
        ["from barnabas.protocol.apis import APIS", "for api in APIS.values(): api.request, api.response"]
    )
    milliseconds, megabytes = imported(everything, runs)
    print(f"| ours, with every message of every API | {milliseconds:.0f} | {megabytes:.1f} |")


if __name__ == "__main__":
    main()
