"""Made-up bytes for every reader of protocol/, chosen by atheris, which follows the coverage of the code it feeds.

    python -m tests.protocol.fuzz RUNS      (or: make fuzz)

It begins with the corpus, what real clients said, and one full message of every kind. What breaks something is printed
as a line to add to corpus.txt, where it stays when it has been mended.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

CORPUS = Path(__file__).with_name("corpus.txt")
"""One input a line, in hexadecimal; a line with # says what the next one is about."""

MAX_INPUT_BYTES = 600


def corpus() -> list[bytes]:
    return [bytes.fromhex(line) for line in CORPUS.read_text().splitlines() if not line.startswith("#")]


def seeds() -> Iterator[bytes]:
    """Good input leads further than noise."""
    from barnabas.protocol.codec import encode
    from tests.golden.recorded import CLIENTS, recorded

    from .generated import full_message
    from .hostile import MESSAGES

    yield from corpus()
    for client in CLIENTS:
        for line in recorded(client):
            yield b"\x01" + bytes.fromhex(line["frame"])
    for line in recorded("edge_cases"):
        yield b"\x00" + bytes.fromhex(line["sent"])
    for number, (cls, version) in enumerate(MESSAGES):
        yield b"\x02" + number.to_bytes(2, "big") + encode(full_message(cls, version), version)


def fuzz(runs: int) -> subprocess.CompletedProcess[str]:
    """Runs the fuzzer in a process of its own. Its return code is 0 unless an input broke something."""
    with TemporaryDirectory() as name:
        inputs = Path(name, "inputs")
        inputs.mkdir()
        for number, seed in enumerate(seeds()):
            (inputs / str(number)).write_bytes(seed)
        options = [f"-runs={runs}", f"-max_len={MAX_INPUT_BYTES}", "-seed=1", f"-artifact_prefix={name}/"]
        # Its accounts of which input is how rare took three quarters of the time and led no further: of 300,000 runs
        # 83,292 features with them, 83,580 without. And nobody else adds inputs to those that are there.
        options += ["-entropic=0", "-reload=0"]
        command = [sys.executable, "-m", "tests.protocol.fuzz", "inside", *options, str(inputs)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        for broken in Path(name).glob("*-*"):
            done.stderr += f"\nbroken by this line of corpus.txt: {broken.read_bytes().hex()}"
        return done


def run_inside() -> None:
    import atheris

    with atheris.instrument_imports(include=["barnabas"]):
        from barnabas.protocol import codec, reading

        from .hostile import try_input

    def compile_instrumented(cls: Any, version: int) -> Any:
        """What the codec compiles is no module that atheris could instrument while it is imported."""
        return atheris.instrument_func(reading.compile_decoder(cls, version))

    vars(codec)["compile_decoder"] = compile_instrumented
    atheris.Setup([sys.argv[0], *sys.argv[2:]], try_input)
    atheris.Fuzz()


if __name__ == "__main__":
    if sys.argv[1] == "inside":
        run_inside()
    else:
        result = fuzz(int(sys.argv[1]))
        print(result.stderr[-4_000:], file=sys.stderr)
        sys.exit(result.returncode)
