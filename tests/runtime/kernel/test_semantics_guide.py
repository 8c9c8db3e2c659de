"""docs/semantics.md: every sentence of the guide names a test, and every test that it names exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
GUIDE = (ROOT / "docs" / "semantics.md").read_text(encoding="utf-8")
REFERENCE = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
SECTIONS = (
    "Routing",
    "Bounds",
    "Retries and errors",
    "Parallel and joins",
    "Fan-out",
    "Interrupts",
    "Policies",
    "Budgets",
    "Models",
    "Pipeline versions",
    "Delivery and re-issue",
)


@cache
def functions_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_test_that_the_guide_names_exists() -> None:
    references = REFERENCE.findall(GUIDE)
    missing = [f"{file}::{name}" for file, name in references if name not in functions_in(file)]
    assert missing == []
    assert len(references) > 100


@pytest.mark.parametrize("section", re.split(r"^## ", GUIDE, flags=re.MULTILINE)[1:], ids=SECTIONS)
def test_every_sentence_of_the_guide_names_its_tests(section: str) -> None:
    sentences, _, behind = section.partition("<details>")
    numbers = re.findall(r"^(\d+)\. ", sentences, re.MULTILINE)
    assert numbers == [str(number) for number in range(1, len(numbers) + 1)]
    rows = re.findall(r"^(\d+)\. (.*)$", behind, re.MULTILINE)
    assert [number for number, tests in rows if REFERENCE.search(tests)] == numbers
    assert REFERENCE.search(sentences) is None


def test_the_guide_has_its_sections() -> None:
    assert tuple(re.findall(r"^## (.+)$", GUIDE, re.MULTILINE)) == SECTIONS
