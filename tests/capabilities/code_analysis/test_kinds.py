"""What the rules write for single kinds of questions: tests, settings, what extends a thing, what sets two apart."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from actors.capabilities.code_analysis.agents.synthesizer import write_claims
from actors.capabilities.code_analysis.answers.comparison import differences
from actors.capabilities.code_analysis.answers.evidence import Evidence
from actors.capabilities.code_analysis.answers.extension import derived, left_open
from actors.capabilities.code_analysis.answers.uses import MAX_TESTS_ASKED_FOR
from actors.capabilities.code_analysis.answers.wording import sets_a_value
from actors.capabilities.code_analysis.evidence.claims import Claim
from actors.capabilities.code_analysis.evidence.facts import Fact
from actors.capabilities.code_analysis.evidence.steps import Purpose
from actors.capabilities.code_analysis.question.analysis import analyse
from actors.capabilities.code_analysis.ranking.relevance import Entity, rank_entities
from tests.capabilities.code_analysis.support import FILES, AnalysisHarness, cited, mark_faults, write_files
from tests.repositories import repository_files

VEHICLES = {**FILES, **repository_files("vehicles")}


@pytest.fixture
async def desk(tmp_path: Path) -> AnalysisHarness:
    write_files(tmp_path / "repo", VEHICLES)
    return await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state")


async def answer(desk: AnalysisHarness, question: str) -> str:
    document = await desk.ask(question)
    assert mark_faults(document["answer"], document["citations"]) == []
    return str(document["answer"])


async def test_who_extends_a_class_is_told_what_to_write_and_who_did(desk: AnalysisHarness) -> None:
    told = await answer(desk, "How do I extend `Vehicle`?")
    to_write, _, done = told.partition("**What extends it already**")
    assert "`move`: `def move(self, far: int) -> None:` [relay/vehicle.py:12]" in to_write
    assert "`stop`: `def stop(self) -> None:` [relay/vehicle.py:15]" in to_write
    assert "hoot" not in to_write.partition("**To be written")[2]
    assert "`class Bike(Vehicle):` [relay/vehicle.py:22]" in done


async def test_two_classes_are_set_apart_by_what_each_defines(desk: AnalysisHarness) -> None:
    told = (await answer(desk, "Compare `Vehicle` and `Bike`")).partition("**Differences**")[2]
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
    told = await answer(
        await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state"), "Compare `Gate` and `Grille`"
    )
    assert "Both `Gate` and `Grille` define `_swing`" in told
    assert "Only `Gate` itself defines `is_open`, `_lock`" in told
    assert "make_g" not in told.partition("**Differences**")[2]


async def test_what_is_compared_and_not_there_is_said_to_be_missing(desk: AnalysisHarness) -> None:
    assert "Nothing named `Zorblax` was found; the answer is about the rest." in await answer(
        desk, "Compare `Vehicle` and `Zorblax`"
    )


async def test_what_is_compared_with_what_is_not_there_is_told_in_one_pass(desk: AnalysisHarness) -> None:
    document = await desk.ask("What is the difference between `Vehicle` and `ZorblaxOfThePlains`?")
    assert "Nothing named `ZorblaxOfThePlains` was found" in document["answer"]
    assert document["usage"]["tool_calls"] <= 16


async def test_a_comparison_of_two_things_that_are_not_there_says_so_and_shows_nothing_else(
    desk: AnalysisHarness,
) -> None:
    document = await desk.ask("Compare `ZorblaxFactory` and `QuuxVehicleHandler`")
    assert document["answer"].startswith("Nothing in this repository answers that")
    assert all(f"`{name}`" in document["answer"] for name in ("ZorblaxFactory", "QuuxVehicleHandler"))
    assert document["citations"] == []
    assert document["usage"]["stages"] <= 2


async def test_the_lines_that_set_an_attribute_answer_where_it_is_set(tmp_path: Path) -> None:
    files = {
        "shop/till.py": "class Till:\n    def __init__(self):\n        self._is_open = False\n\n"
        "    def unlock(self):\n        self._is_open = True\n\n"
        "    def sell(self):\n        if self._is_open:\n            return 1\n",
        "shop/doors.py": "def is_open_door(door):\n    return door.is_open\n",
    }
    write_files(tmp_path / "repo", files)
    told = await answer(await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state"), "Where is `_is_open` set?")
    assert "`self._is_open = False` [shop/till.py:3]" in told
    assert "`self._is_open = True` [shop/till.py:6]" in told
    assert "if self._is_open" not in told


async def test_where_a_named_setting_gets_its_value_is_told_by_line(desk: AnalysisHarness) -> None:
    told = (await answer(desk, "Where is DEPOT_LIMIT configured?")).partition("**Where it is configured**")[2]
    assert '`"DEPOT_LIMIT": 10,` [relay/defaults.py:2]' in told
    assert "too low" not in told


async def test_the_tests_of_a_thing_are_told_by_the_line_that_uses_it(desk: AnalysisHarness) -> None:
    told = await answer(desk, "Which tests cover `deliver_parcel`?")
    assert "- `test_a_van_delivers`: `assert deliver_parcel(a, b) == 1` [tests/test_van.py:6]" in told


@pytest.mark.parametrize(
    ("line", "does"),
    [
        ("PORT = 1", True),
        ('"port": 1,', True),
        ("port: 80", True),
        ("port := 80", True),
        ("port: int = 80", True),
        ('os.environ["PORT"]', True),
        ("process.env.get('PORT')", True),
        ("if port == 80:", False),
        ("if self.port:", False),
        ("# PORT = 1", False),
        ("// port = 1", False),
        ("connect(port)", False),
        ("support = 1", False),
    ],
)
def test_a_line_sets_a_value_or_merely_uses_it(line: str, does: bool) -> None:
    assert sets_a_value(line, "PORT") is does


def entity(name: str, line: int, code: str = "") -> Entity:
    read = Fact("code", cited("a.py", line, line + code.count("\n")), text=code) if code else None
    return Entity(name, "class", cited("a.py", line), "", "", 1.0, ("find",), False, read)


def member(name: str, line: int, purpose: Purpose = "members") -> Fact:
    return Fact("definition", cited("a.py", line), name=name, purpose=purpose)


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


@pytest.mark.parametrize(
    ("line", "extends"),
    [
        ("class Bike(Vehicle):", True),
        ("export class Bike extends Vehicle {", True),
        ("public final class Bike extends Vehicle<T> implements Moves {", True),
        ("impl Vehicle for Bike {", True),
        ("impl<T> Vehicle<T> {", False),
        ("class Vehicle:", False),
        ("class VehiclePark:", False),
        ("bike = Vehicle()", False),
    ],
)
def test_a_declaration_that_names_a_thing_extends_it(line: str, extends: bool) -> None:
    use = Fact("reference", cited("b.py", 3, quote=line), about="Vehicle")
    assert bool(derived("Vehicle", [use])) is extends


def opened(code: str) -> list[tuple[str, int]]:
    return [(claim.text.split("`")[1], claim.citations[0].start_line) for claim in left_open(entity("V", 5, code))]


def test_abstract_members_are_left_open_and_others_are_not() -> None:
    code = "class V:\n    @abstractmethod\n    def a(self): ...\n    def b(self):\n        return 1"
    assert opened(code) == [("a", 7)]
    assert opened("abstract class V {\n  abstract void move(int far);\n  void b() {}") == [("move", 6)]


def uses_told(count: int) -> list[Claim]:
    place = Fact("definition", cited("van.py", 5), name="deliver", symbol_kind="function", score=1.0)
    uses = [
        Fact("test", cited("t.py", n, quote="deliver()"), name=f"test_{n}", about="deliver", is_test=True)
        for n in range(1, count + 1)
    ]
    asked = analyse("Which tests cover `deliver`?")
    facts = [place, *uses]
    return write_claims(Evidence(asked, facts, rank_entities(asked, facts)), ["tests"])["tests"]


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_who_asks_for_tests_gets_so_many(more: int) -> None:
    assert len(uses_told(MAX_TESTS_ASKED_FOR + more)) == min(MAX_TESTS_ASKED_FOR, MAX_TESTS_ASKED_FOR + more)
