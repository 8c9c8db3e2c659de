"""Values that are found by what their names say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.search.values.named_values import VALUES
from runtime.codebase.tools.locate import locate
from tests.runtime.codebase.sample_repository import write_files

MILL = {
    "mill/limits.py": "# How many sacks the mill takes at once.\nMAX_SACKS = 40\nDEFAULT_FLOUR = 'rye'\n\n\n"
    "class Stone:\n    def __init__(self, grain_size=3):\n        self.grain_size = grain_size\n"
    "        self.turns = 0\n",
    "mill/grind.js": "const defaults = {\n  flour: 'wheat',\n  headers: {},\n};\n",
    "tests/test_mill.py": "MAX_SACKS = 1\n",
}


@pytest.fixture
def mill(root: Path, opened: Callable[[Path], Codebase]) -> Codebase:
    write_files(root, MILL)
    return opened(root)


def found(codebase: Codebase, question: str, scope: str | None = None) -> list[str]:
    result = locate(codebase, question, kinds=VALUES, scope=scope)
    assert len(result.citations) == len(result.data["results"])
    return [row["symbol"] for row in result.data["results"]]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("the maximum number of sacks", "MAX_SACKS"),
        ("size of the grain", "Stone.grain_size"),
        ("how often a stone turns", "Stone.turns"),
        ("default headers", "defaults"),
        ("where the default headers are configured", "defaults"),
        ("the default flour", "DEFAULT_FLOUR"),
    ],
)
def test_a_value_is_found_by_the_words_of_its_name_owner_and_lines(mill: Codebase, question: str, first: str) -> None:
    assert found(mill, question)[0] == first


def test_values_of_tests_come_behind(mill: Codebase) -> None:
    result = locate(mill, "maximum number of sacks", kinds=VALUES)
    assert result.citations[0].file == "mill/limits.py"


@pytest.mark.parametrize("question", ["the default port", "an unheard-of thing here", "of the"])
def test_a_value_that_has_little_of_the_question_is_none_of_it(mill: Codebase, question: str) -> None:
    assert found(mill, question) == []
    assert locate(mill, question, kinds=VALUES).status == "empty"


def test_values_are_looked_for_in_the_scope_alone(mill: Codebase) -> None:
    assert found(mill, "the default flour", scope="mill/grind.js") == ["defaults"]


def test_of_many_values_no_more_than_the_limit_come_back(root: Path, opened: Callable[[Path], Codebase]) -> None:
    write_files(root, {"many.py": "\n".join(f"SACK_LIMIT_{number} = {number}" for number in range(9))})
    for limit in (8, 9, 10):
        rows = locate(opened(root), "the sack limit", limit, kinds=VALUES).data["results"]
        assert len(rows) == min(limit, 9)
