"""Modules that become C in a wheel keep to what means the same there, and are C where that was asked for."""

from __future__ import annotations

import ast
import os
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
COMPILED: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["barnabas"]["compiled"]


def module(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text())


def meaning_something_else(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.AsyncFunctionDef() | ast.Await() | ast.AsyncFor() | ast.AsyncWith():
                yield f"line {node.lineno}: what it returns is no coroutine of Python's own, which callers look for"
            case ast.Assign(value=ast.GeneratorExp()):
                yield f"line {node.lineno}: the generator would be a list"
            case ast.FunctionDef(name="__getattr__") if node in getattr(tree, "body", ()):
                yield f"line {node.lineno}: a module's own __getattr__ crashes"


@pytest.mark.parametrize("path", COMPILED)
def test_a_compiled_module_says_nothing_that_means_something_else_in_c(path: str) -> None:
    assert list(meaning_something_else(module(path))) == []


@pytest.mark.parametrize(
    "code",
    [
        "async def serve() -> None: ...",
        "others = (row for row in rows)\nfirst = next(others, None)",
        "def __getattr__(name: str) -> object: ...",
    ],
)
def test_what_means_something_else_is_found(code: str) -> None:
    assert len(list(meaning_something_else(ast.parse(code)))) == 1


def test_each_is_named_once_and_in_order() -> None:
    assert sorted(set(COMPILED)) == COMPILED


@pytest.mark.parametrize("path", COMPILED)
def test_what_runs_is_what_was_asked_for(path: str) -> None:
    found = import_module("barnabas." + path.removesuffix(".py").replace("/", ".")).__file__
    assert found is not None
    assert found.endswith(".so") is (os.environ.get("BARNABAS_REQUIRE_COMPILED") == "1")
