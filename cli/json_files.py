"""A file of JSON that a person wrote, or `-` for standard input: what is wrong with it is a sentence."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from barnabas.cli.failures import CommandFailed

__all__ = ["read_json"]


def read_json(path: Path) -> Any:
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text("utf-8")
        return json.loads(text)
    except OSError as error:
        raise CommandFailed(f"{path} cannot be read ({error.strerror}): check its path.") from None
    except UnicodeDecodeError:
        raise CommandFailed(f"{path} is no text: it has to be JSON in UTF-8.") from None
    except RecursionError:
        raise CommandFailed(f"{path} is no JSON that means anything here: it is nested too deeply.") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise CommandFailed(f"{path} is no JSON: {error.msg} at {where}.") from None
    except ValueError:
        raise CommandFailed(f"{path} has a number of thousands of digits: nothing here takes one.") from None
