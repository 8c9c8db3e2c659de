"""What sets two things apart."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from actors.capabilities.code_analysis.answers.named_types.comparison import differences
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.evidence.steps import Purpose
from actors.capabilities.code_analysis.kinds.compare import KIND
from actors.capabilities.code_analysis.question.analysis import analyse
from actors.capabilities.code_analysis.ranking.relevance import Entity
from tests.capabilities.code_analysis.kinds.asking import planned, told_of
from tests.capabilities.code_analysis.support import AnalysisHarness, cited, write_files


@pytest.mark.parametrize(
    "text",
    [
        "Compare LocalRuntime and RayRuntime",
        "What is the difference between Route and Mount?",
        "Route vs. Mount",
    ],
)
def test_it_is_told_by_its_wording(text: str) -> None:
    assert analyse(text).kind == KIND.name


@pytest.mark.parametrize(
    "text",
    [
        "How does Route work?",
        "Which routes are there?",
    ],
)
def test_what_only_sounds_like_it_is_of_another_kind(text: str) -> None:
    assert analyse(text).kind != KIND.name


def test_words_with_a_capital_are_names_and_the_subject_is_all_of_them() -> None:
    asked = analyse("What is the difference between Route and Mount?")
    assert asked.identifiers == ("Route", "Mount")
    assert asked.subject == "Route and Mount"


def test_both_are_read_with_their_members_and_calls() -> None:
    steps = planned("Compare `Vehicle` and `Bike`")
    assert [step.id for step in steps] == [
        "find",
        "name0",
        "name1",
        "read",
        "pair",
        "members",
        "calls",
        "use0",
        "use1",
        "use",
    ]
    assert all(step.named_only and step.count == 2 for step in steps[4:7])


async def test_two_classes_are_set_apart_by_what_each_defines(vehicles: AnalysisHarness) -> None:
    told = (await told_of(vehicles, "Compare `Vehicle` and `Bike`")).partition("**Differences**")[2]
    assert "Both `Vehicle` and `Bike` define `move` [relay/vehicle.py:11-13] [relay/vehicle.py:25-26]" in told
    assert "Only `Vehicle` itself defines `speed`, `stop`, `hoot`" in told
    assert "Only `Bike` itself defines `ring` [relay/vehicle.py:28-29]" in told


async def test_classes_at_the_end_of_a_long_file_are_set_apart_by_what_they_override(tmp_path: Path) -> None:
    before = "".join(f"class Wheel{number}:\n    def turn(self):\n        pass\n\n" for number in range(80))
    pair = (
        'class Gate:\n    """A gate.\n\n    Example: ::\n\n        opened = make_gate(1)\n    """\n\n'
        "    def __init__(self):\n        self.is_open = False\n\n    def _swing(self):\n        pass\n\n"
        "    def _lock(self):\n        pass\n\n"
        'class Grille(Gate):\n    """A gate of bars.\n\n    Example: ::\n\n        opened = make_grille(1)\n    """\n\n'
        "    def _swing(self):\n        pass\n"
    )
    write_files(tmp_path / "repo", {"yard/gates.py": before + pair})
    told = await told_of(
        await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state"), "Compare `Gate` and `Grille`"
    )
    assert "Both `Gate` and `Grille` define `_swing`" in told
    assert "Only `Gate` itself defines `is_open`, `_lock`" in told
    assert "make_g" not in told.partition("**Differences**")[2]


async def test_what_is_compared_and_not_there_is_said_to_be_missing(vehicles: AnalysisHarness) -> None:
    assert "No place told here names `Zorblax`; the answer is about the rest." in await told_of(
        vehicles, "Compare `Vehicle` and `Zorblax`"
    )


async def test_what_is_compared_with_what_is_not_there_is_told_in_one_pass(vehicles: AnalysisHarness) -> None:
    document = await vehicles.ask("What is the difference between `Vehicle` and `ZorblaxOfThePlains`?")
    assert "No place told here names `ZorblaxOfThePlains`" in document["answer"]
    assert document["usage"]["tool_calls"] <= 16


@pytest.mark.long
async def test_a_comparison_of_two_things_that_are_not_there_says_so_and_shows_nothing_else(
    vehicles: AnalysisHarness,
) -> None:
    document = await vehicles.ask("Compare `ZorblaxFactory` and `QuuxVehicleHandler`")
    assert document["answer"].startswith("I did not find this. A search for")
    assert all(f"`{name}`" in document["answer"] for name in ("ZorblaxFactory", "QuuxVehicleHandler"))
    assert document["citations"] == []
    assert document["usage"]["stages"] <= 2


def entity(name: str, line: int, code: str = "") -> Entity:
    read = CodeFact("code", cited("a.py", line, line + code.count("\n")), text=code) if code else None
    return Entity(name, "class", cited("a.py", line), "", "", 1.0, ("find",), False, read)


def member(name: str, line: int, purpose: Purpose = "members") -> CodeFact:
    return CodeFact("definition", cited("a.py", line), name=name, purpose=purpose)


def test_of_what_only_a_part_is_known_nothing_is_said_to_be_missing() -> None:
    facts = [member("One.a", 2, "find"), member("Two.b", 12, "find")]
    assert differences(entity("One", 1), entity("Two", 11), facts) == []


def test_what_one_of_two_does_not_have_is_told_of_the_other_alone() -> None:
    facts = [member("One.a", 2), member("One.both", 3), member("Two.both", 13), member("One._own", 4)]
    told = [claim.text for claim in differences(entity("One", 1), entity("Two", 11), facts)]
    assert told == ["Both `One` and `Two` define `both`", "Only `One` itself defines `a`"]


def test_the_head_of_a_function_below_its_comment_is_no_call_of_it() -> None:
    one = entity("one", 1, "// one\n//\n// is\n// first\nfunc one(n int) {\n    same(n)\n    more(n)\n}")
    other = entity("two", 11, "func two(n int) {\n    same(n)\n}")
    told = [claim.text for claim in differences(as_function(one), as_function(other), [])]
    assert told == ["Both `one` and `two` call `same`", "Only `one` calls `more`"]


def as_function(one: Entity) -> Entity:
    return msgspec.structs.replace(one, kind="function")


def test_two_functions_are_set_apart_by_their_own_lines() -> None:
    one = entity("one", 1, "def one(n):\n    # why\n    same(n)\n    if n < 1:")
    other = entity("two", 11, "def two(n):\n    same(n)\n    if n > 1:")
    told = [
        (claim.text, claim.citations[0].start_line) for claim in differences(as_function(one), as_function(other), [])
    ]
    assert told == [
        ("Both `one` and `two` call `same`", 3),
        ("Only in `one`: `if n < 1:`", 4),
        ("Only in `two`: `if n > 1:`", 13),
    ]
