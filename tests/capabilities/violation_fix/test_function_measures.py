"""Counters agree with ruff's C901 and PLR09 rules."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from actors.capabilities.violation_fix.refactoring.complexity import Limits, functions_of, measure

ROOT = Path(__file__).parents[3]
RULES = {
    "C901": "complexity",
    "PLR0911": "returns",
    "PLR0912": "branches",
    "PLR0913": "arguments",
    "PLR0915": "statements",
}
ZERO = ["mccabe.max-complexity", *(f"pylint.max-{name}" for name in ("branches", "returns", "args", "statements"))]

ODD = """
import typing


class A:
    def f(self, a, _b, *c, d=1, **e):
        try:
            pass
        except ValueError:
            pass
        except KeyError:
            return 1
        else:
            return 2
        finally:
            for x in a:
                continue
            else:
                pass

    @staticmethod
    def g(a, b):
        match a:
            case 1:
                return 1
            case _:
                return 2

    @typing.overload
    def h(self, a): ...


async def k(a):
    async with a as b, a:
        while b:
            if a:
                pass
            elif b:
                pass
            else:
                if a:
                    pass

    class B:
        def inner(self):
            if a:
                return 1

        if a:
            def other(self):
                return 2

    def nested(x):
        return [y for y in x if y and y or x]

    return nested
"""


def counts_of_ruff(paths: list[Path]) -> dict[tuple[str, int], dict[str, int]]:
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--ignore-noqa", "--output-format", "json"]
    options = [part for name in ZERO for part in ("--config", f"lint.{name}=0")]
    done = subprocess.run(
        [*command, "--select", ",".join(RULES), *options, *map(str, paths)], capture_output=True, text=True, check=False
    )
    found: dict[tuple[str, int], dict[str, int]] = {}
    for violation in json.loads(done.stdout):
        match = re.search(r"\((\d+) > 0\)", violation["message"])
        assert match is not None
        key = (violation["filename"], violation["location"]["row"])
        found.setdefault(key, {})[RULES[violation["code"]]] = int(match.group(1))
    return found


def disagreements(paths: list[Path]) -> list[str]:
    expected = counts_of_ruff(paths)
    found = []
    for path in paths:
        for name, function, in_class in functions_of(ast.parse(path.read_text(encoding="utf-8"))):
            measures = measure(function, in_class=in_class)
            ours = {measure_name: getattr(measures, measure_name) for measure_name in RULES.values()}
            theirs = expected.get((str(path), function.lineno), {})
            found += [
                f"{path.name}:{function.lineno} {name} {rule}: {count} instead of {theirs.get(rule, 0)}"
                for rule, count in ours.items()
                if count != theirs.get(rule, 0)
            ]
    return found


def test_counts_of_odd_code_are_those_of_ruff(tmp_path: Path) -> None:
    path = tmp_path / "odd.py"
    path.write_text(ODD, encoding="utf-8")
    assert disagreements([path]) == []


@pytest.mark.long
def test_counts_of_this_project_are_those_of_ruff() -> None:
    paths = [
        path for folder in ("runtime/pipeline", "actors", "serve") for path in sorted((ROOT / folder).rglob("*.py"))
    ]
    assert len(paths) > 100
    assert disagreements(paths) == []


@pytest.mark.parametrize(("limit", "over"), [(2, {"complexity": 1}), (3, {}), (4, {})])
def test_a_limit_is_the_largest_value_that_passes(limit: int, over: dict[str, int]) -> None:
    function = ast.parse("def f(a):\n    if a:\n        pass\n    while a:\n        pass\n").body[0]
    assert isinstance(function, ast.FunctionDef)
    assert measure(function).over(Limits(complexity=limit)) == over
