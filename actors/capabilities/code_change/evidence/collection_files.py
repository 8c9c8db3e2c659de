"""Recognises changes of what decides which tests run: hooks and configuration of test runners."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

Part = Callable[[str], object]

_SECTION = re.compile(r"^\s*\[+\s*([^\]]+?)\s*\]+", re.MULTILINE)
_JS_CONFIG = re.compile(
    r"(?:jest|vitest|karma|playwright|cypress)\.(?:config|conf)\.[cm]?[jt]s(?:on)?|\.mocharc(?:\.\w+)?"
)
_CARGO_TESTS = re.compile(r"^\s*(?:test|autotests|harness|doctest)\s*=.*$", re.MULTILINE)
_RUNNERS = ("jest", "mocha", "vitest", "ava", "tap")
_TEST_SCRIPT = re.compile(r"(?:pre|post)?tests?(?:\W.*)?", re.IGNORECASE)


def _whole(text: str) -> object:
    return text.strip()


def _sections(name: str) -> Part:
    """Return what reads the sections of a configuration file whose names match a pattern."""
    wanted = re.compile(name)

    def read(text: str) -> object:
        heads = list(_SECTION.finditer(text))
        ends = [*(head.start() for head in heads[1:]), len(text)]
        found = ((head.group(1), text[head.end() : end]) for head, end in zip(heads, ends, strict=False))
        return [
            (title, [line.strip() for line in body.split("\n") if line.strip()])
            for title, body in found
            if wanted.match(title)
        ]

    return read


def _package(text: str) -> object:
    """Return the scripts that test, and the options of test runners, of a `package.json`."""
    try:
        told: Any = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return text
    if not isinstance(told, dict):
        return text
    scripts = told.get("scripts")
    named = scripts if isinstance(scripts, dict) else {}
    tests = {name: command for name, command in named.items() if _TEST_SCRIPT.fullmatch(name)}
    return tests, {runner: told[runner] for runner in _RUNNERS if runner in told}


# What of a file decides which tests run, by the file's name.
_PARTS: Mapping[str, Part] = MappingProxyType(
    {
        **dict.fromkeys(("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"), _whole),
        **dict.fromkeys((".rspec", "phpunit.xml", "phpunit.xml.dist"), _whole),
        "tox.ini": _sections(r"pytest|testenv|tox"),
        "setup.cfg": _sections(r"tool:pytest|aliases|nosetests"),
        "pyproject.toml": _sections(r"tool\.(?:pytest|tox)\b"),
        "package.json": _package,
        "Cargo.toml": _CARGO_TESTS.findall,
    }
)


def collects_tests(file: str) -> bool:
    """Return whether a file may decide which tests run."""
    name = PurePosixPath(file).name
    return name in _PARTS or _JS_CONFIG.fullmatch(name) is not None


def changes_collection(file: str, before: str, after: str) -> bool:
    """Return whether two texts of a file may have different tests run; a file that is not there is empty."""
    read = _PARTS.get(PurePosixPath(file).name, _whole)
    return read(before) != read(after)
