"""docs/TESTING.md and its page for other languages: every block of code in them is run, so that what they say works for
whoever copies it; and README's."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from barnabas.testing import Broker

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
GUIDE = "".join((ROOT / "docs" / name).read_text() for name in ("TESTING.md", "TESTING-OTHER-LANGUAGES.md"))
CACHE = ROOT / ".cache"
LONGEST_S = 180
RUN_HERE = {"python", "ini", "sh", "java", "javascript", "go", "text"}


class Block(NamedTuple):
    language: str
    name: str
    """Of the file that its first line says it is."""
    text: str


def read_blocks() -> list[Block]:
    found = []
    for language, text in re.findall(r"^```(\w+)\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL):
        first = text.splitlines()[0].split()
        found.append(Block(language, first[1] if first[0] in ("#", "//") and len(first) == 2 else "", text))
    return found


BLOCKS = read_blocks()


def write(directory: Path, *languages: str) -> list[str]:
    """The files of these languages; their names."""
    names = []
    for block in BLOCKS:
        if block.language in languages:
            assert block.name, f"nobody knows which file this is: {block.text[:100]}"
            assert block.name not in names, f"{block.name} is there twice"
            names.append(block.name)
            (directory / block.name).write_text(block.text)
    return names


def run(directory: Path, *command: object, **environment: str) -> str:
    """Its output; it has to end well. The command `barnabas` is that of this environment."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [str(word) for word in command],
        cwd=directory,
        env={**os.environ, "PATH": path, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=LONGEST_S,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def needs(program: str, what: str, required: bool) -> None:
    if shutil.which(program) is None:
        if required and os.environ.get("BARNABAS_REQUIRE_KAFKA") == "1":
            pytest.fail(f"{what} is not installed")
        pytest.skip(f"{what} is not installed")


def test_every_block_is_one_that_is_run_here() -> None:
    assert {block.language for block in BLOCKS} == RUN_HERE
    assert GUIDE.count("```") == 2 * len(BLOCKS)


def test_every_method_is_told() -> None:
    public = {name for name in dir(Broker) if not name.startswith("_")}
    assert public - set(re.findall(r"\w+", GUIDE)) == set()


def test_python(tmp_path: Path) -> None:
    names = write(tmp_path, "python", "ini")
    readme = re.search(
        r"^```python\n(# test_readme\.py\n.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL
    )
    assert readme is not None
    (tmp_path / "test_readme.py").write_text(readme[1])
    quiet = ("-p", "no:asyncio", "-p", "no:hypothesispytest", "-p", "no:cacheprovider")
    told = run(tmp_path, sys.executable, "-m", "pytest", "-ra", *quiet)
    passed = re.search(r"(\d+) passed", told)
    assert passed is not None
    tests = 1 + sum(text.count("def test_") for _, name, text in BLOCKS if name.endswith(".py"))
    assert (int(passed[1]), "failed" in told) == (tests, False), told
    assert tests >= len([name for name in names if name.startswith("test_")])
    assert "OK" in run(tmp_path, sys.executable, "-m", "unittest", "test_with_unittest")


FAILING = """
import pytest
from kafka import KafkaProducer

@pytest.mark.kafka(own_broker=True)
def test_failing(kafka):
    kafka.fail_next("Produce", "NOT_LEADER_OR_FOLLOWER")
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap_servers, client_id="shop", retry_backoff_ms=10)
    producer.send("orders", b"v").get(10)
    producer.close()
    assert 0
"""


def test_what_a_failing_test_shows(pytester: pytest.Pytester) -> None:
    (shown,) = [block.text for block in BLOCKS if block.language == "text"]
    pytester.makepyfile(FAILING)
    result = pytester.runpytest_subprocess("-p", "no:asyncio", "-W", "ignore")
    result.assert_outcomes(failed=1)

    def lines(text: str) -> list[str]:
        """Without numbers, and with one dash for many."""
        return [re.sub("-+", "-", re.sub(r"[0-9]+", "0", line)) for line in text.splitlines()]

    told = lines(result.stdout.str())
    assert [line for line in lines(shown) if line not in told] == []


def test_shell(tmp_path: Path) -> None:
    needs("kcat", "kcat", required=True)
    (script,) = [block.text for block in BLOCKS if block.language == "sh"]
    told = run(tmp_path, "bash", "-euc", script)
    assert told.splitlines() == ['{"order": 7}']
    assert not (tmp_path / "ready.json").exists()


JUNIT = """
package org.junit.jupiter.api;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

@Retention(RetentionPolicy.RUNTIME)
public @interface %s {}
"""
ASSERTIONS = """
package org.junit.jupiter.api;

public final class Assertions {
    public static void assertEquals(long expected, long actual) {
        if (expected != actual) {
            throw new AssertionError(expected + " is not " + actual);
        }
    }
}
"""
RUNNER = """
import java.lang.reflect.Method;

public class Runner {
    public static void main(String[] none) throws Exception {
        Object tests = OrdersTest.class.getDeclaredConstructor().newInstance();
        for (String kind : new String[] {"BeforeAll", "Test", "AfterAll"}) {
            for (Method method : OrdersTest.class.getDeclaredMethods()) {
                for (var annotation : method.getAnnotations()) {
                    if (annotation.annotationType().getSimpleName().equals(kind)) {
                        method.setAccessible(true);
                        method.invoke(tests);
                        System.out.println(kind + " " + method.getName());
                    }
                }
            }
        }
    }
}
"""


@pytest.mark.java
def test_java(tmp_path: Path, kafka_classpath: str) -> None:
    """With the few names of JUnit that it uses; JUnit itself is not among Kafka's jars."""
    names = write(tmp_path, "java")
    for annotation in ("Test", "BeforeAll", "AfterAll"):
        (tmp_path / f"{annotation}.java").write_text(JUNIT % annotation)
        names.append(f"{annotation}.java")
    (tmp_path / "Assertions.java").write_text(ASSERTIONS)
    (tmp_path / "Runner.java").write_text(RUNNER)
    classpath = f".{os.pathsep}{kafka_classpath}"
    run(tmp_path, "javac", "-d", ".", "-cp", classpath, *names, "Assertions.java", "Runner.java")
    told = run(tmp_path, "java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", classpath, "Runner")
    ran = [line for line in told.splitlines() if line.startswith(("BeforeAll", "Test", "AfterAll"))]
    assert ran == ["BeforeAll start", "Test anOrderIsAnnounced", "AfterAll stop"], told


def test_node(tmp_path: Path) -> None:
    needs("node", "Node", required=False)
    modules = CACHE / "node" / "node_modules"
    if not modules.is_dir():
        pytest.skip("kafkajs is not in .cache/: run `make other-languages`")
    write(tmp_path, "javascript")
    (tmp_path / "node_modules").symlink_to(modules)
    told = run(tmp_path, "node", "--test", KAFKAJS_NO_PARTITIONER_WARNING="1")
    assert re.search(r"^. pass 1$", told, re.MULTILINE), told


def test_go(tmp_path: Path) -> None:
    needs("go", "Go", required=False)
    module = CACHE / "go"
    if not (module / "go.sum").is_file():
        pytest.skip("franz-go is not in .cache/: run `make other-languages`")
    for name in ("go.mod", "go.sum"):
        shutil.copy(module / name, tmp_path)
    write(tmp_path, "go")
    assert re.search(r"^ok\s+orders", run(tmp_path, "go", "test", "-count=1", "./..."), re.MULTILINE)
