"""Whose uses a question asks for that describes a definition, or names it somewhere in a longer text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.capabilities.code_analysis.question.analysis import analyse
from actors.capabilities.code_analysis.question.described_use import (
    MAX_QUESTION_CHARS,
    asks_for_uses,
    definition_under_test,
    used_definition,
)
from runtime.codebase.codebase import Codebase
from tests.capabilities.code_analysis.kinds.asking import told_of
from tests.capabilities.code_analysis.support import AnalysisHarness, codebase_of, indexed

FILES = {
    "depot/__init__.py": "from depot.errors import RetryError, SpareError\n",
    "depot/errors.py": (
        '"""Errors."""\n\n\nclass RetryError(Exception):\n    """Raised when a van is late."""\n\n\n'
        'class SpareError(Exception):\n    """Raised for a spare part."""\n'
    ),
    "depot/yard.py": (
        '"""The yard."""\n\nfrom depot.errors import RetryError\n\n\nclass Yard:\n    """Keeps vans."""\n\n'
        '    GATE_PREFIX = "gate-"\n\n'
        '    @property\n    def got_parcel(self):\n        """Tell whether a parcel came."""\n        return True\n\n'
        '    def open_gate(self):\n        """Open a gate."""\n        if not self.got_parcel:\n'
        "            raise RetryError(self.GATE_PREFIX)\n\n\n"
        'class VanLot:\n    """Keeps lots of vans."""\n\n    def __init__(self):\n        self.lots = []\n'
        "        self.van_lots = {}\n\n\n"
        'def walk(yard):\n    """Walk."""\n    return yard.got_parcel\n'
    ),
}


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> AnalysisHarness:
    return indexed(tmp_path_factory.mktemp("used"), FILES)


@pytest.fixture(scope="module")
def depot(harness: AnalysisHarness) -> Iterator[Codebase]:
    with codebase_of(harness) as codebase:
        yield codebase


@pytest.mark.parametrize(
    "text",
    [
        "There's a constant for the gate prefix. Is anything still using it?",
        "is the retry error needed for anything but late vans?",
        "Do we still raise the retry error anywhere?",
        "The gate prefix - is that still referenced anywhere or can I delete it?",
        "Does anything call that, or is it dead code?",
        "My IDE says it's unused, is that true?",
        "Usages of `walk` please",
        "what calls the function that opens the gate",
        "Which class is built with it?",
        "who uses the helper that decides if we warn?",
        "do we ever return it?",
        "Is it safe to remove the gate prefix?",
    ],
)
def test_who_asks_whether_something_is_used_asks_for_its_uses(text: str) -> None:
    assert asks_for_uses(text)


@pytest.mark.parametrize(
    "text",
    [
        "Is the pager still used if I pipe the output into another program?",
        "Is the session still saved when nothing changed?",
        "When does it use polling instead of the native watch?",
        "How is the gate used by vans?",
        "Why do we still need the gate prefix?",
        "What is the gate prefix?",
        "Where does a van park?",
        "",
    ],
)
def test_who_asks_what_happens_then_does_not(text: str) -> None:
    assert not asks_for_uses(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("There's a constant for the gate prefix in the yard. Is anything still using it?", "GATE_PREFIX"),
        ("Is the retry error ever raised?", "RetryError"),
        ("What calls the method that opens the gate of the yard?", "open_gate"),
        ("I stumbled over GATE_PREFIX in the yard. Can it go, or does anything read it?", "GATE_PREFIX"),
        ("Is the prefix of the gate on `Yard` still used?", "GATE_PREFIX"),
        ("Is the flying carpet still used?", None),
        ("Is `walk` or `open_gate` still used?", None),
        ("Is the retry error raised when a van is late?", None),
        # A name's own words describe no member of it.
        ("What is this VanLot thing and what do we use it for?", "VanLot"),
        # Its tests are asked for.
        ("Which tests cover the retry error class?", None),
        ("How does the yard open its gate?", None),
    ],
)
def test_the_definition_whose_uses_are_asked_for(depot: Codebase, text: str, name: str | None) -> None:
    assert used_definition(depot.index, analyse(text)) == name


@pytest.mark.parametrize(("fill", "name"), [(0, "RetryError"), (1, None)])
def test_a_long_story_is_not_about_one_definition(depot: Codebase, fill: int, name: str | None) -> None:
    text = "Is the retry error ever raised?"
    longest = f"{text}{' ' * (MAX_QUESTION_CHARS - len(text) + fill)}"
    assert used_definition(depot.index, analyse(longest)) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Which tests cover the method that opens the gate of the yard?", "open_gate"),
        ("Is there a test for the retry error class?", "RetryError"),
        ("Which tests cover the gate prefix?", None),
        ("Which tests check that a gate opens for a parcel?", None),
        ("Which tests cover `walk`?", None),
        ("Who uses the retry error class?", None),
    ],
)
def test_tests_are_those_of_what_is_called_a_function_or_a_class(depot: Codebase, text: str, name: str | None) -> None:
    assert definition_under_test(depot.index, analyse(text)) == name


@given(text=st.text(max_size=200))
def test_any_text_names_a_definition_or_none(depot: Codebase, text: str) -> None:
    name = used_definition(depot.index, analyse(text))
    assert name is None or depot.symbols_named(name) or name in text


async def test_its_uses_stand_right_behind_what_it_is(harness: AnalysisHarness) -> None:
    told = await told_of(harness, "There's a constant for the gate prefix in the yard. Is anything still using it?")
    assert told.startswith('`Yard.GATE_PREFIX` is a constant in `depot/yard.py`: `GATE_PREFIX = "gate-"`')
    assert "**Used by**\n\n- `Yard.open_gate`: `raise RetryError(self.GATE_PREFIX)` [depot/yard.py:19]" in told


async def test_of_what_is_only_imported_it_is_told_that_no_other_use_was_proven(harness: AnalysisHarness) -> None:
    told = await told_of(harness, "Is the spare error ever raised?")
    assert "But for imports, no use of `SpareError` was proven in this repository." in told
    assert "**Imported by**" in told
    assert "But for imports" not in await told_of(harness, "Is the retry error ever raised?")


async def test_lines_that_read_a_property_of_an_unknown_object_are_told_as_that(harness: AnalysisHarness) -> None:
    told = await told_of(harness, "Is `Yard.got_parcel` read by anything?")
    assert "- `walk`: `return yard.got_parcel` [depot/yard.py:" in told
