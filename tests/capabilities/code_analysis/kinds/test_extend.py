"""How a thing is added or extended."""

from __future__ import annotations

import pytest

from actors.capabilities.code_analysis.answers.extension import derived, left_open
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.kinds.extend import KIND
from actors.capabilities.code_analysis.question.analysis import analyse
from actors.capabilities.code_analysis.ranking.relevance import Entity
from tests.capabilities.code_analysis.kinds.asking import planned, told_of
from tests.capabilities.code_analysis.support import AnalysisHarness, cited


@pytest.mark.parametrize(
    "text",
    [
        "How do I add a tool?",
        "How to register a plugin",
        "Add a new tool",
        "How do I extend `Vehicle`?",
    ],
)
def test_it_is_told_by_its_wording(text: str) -> None:
    assert analyse(text).kind == KIND.name


@pytest.mark.parametrize(
    "text",
    [
        "How is a tool added?",
        "When was the tool added?",
    ],
)
def test_what_only_sounds_like_it_is_of_another_kind(text: str) -> None:
    assert analyse(text).kind != KIND.name


def test_what_is_done_is_told_from_what_it_is_done_to() -> None:
    asked = analyse("How do I add a new binding?")
    assert asked.subject == "binding"
    assert asked.deed_terms == ("add",)


def test_open_types_are_searched_for_and_documents_read() -> None:
    steps = planned("How do I extend `Vehicle`?")
    assert [step.id for step in steps[:4]] == ["find", "thing", "open", "name0"]
    assert steps[2].arguments["kinds"] == ["interface", "trait", "protocol"]
    assert [step.id for step in steps[-3:]] == ["guides", "guide", "before"]


@pytest.mark.parametrize(
    ("question", "thing"),
    [
        ("How do I add a new binding?", "binding"),
        ("I want to add one more command line flag, e.g. --foo. What do I have to touch?", "command line flag"),
        ("How do I add a new special command (say .foo)?", "special command "),
        ("How would I add support for a different storage backend?", "storage backend"),
        ("I want my own data store. Where do I hook it in?", "data store"),
    ],
)
def test_what_was_added_before_is_looked_for_by_what_is_to_be_added(question: str, thing: str) -> None:
    (step,) = [step for step in planned(question) if step.tool == "find_precedents"]
    assert step.arguments == {"query": thing}


async def test_who_extends_a_class_is_told_what_to_write_and_who_did(vehicles: AnalysisHarness) -> None:
    told = await told_of(vehicles, "How do I extend `Vehicle`?")
    to_write, _, done = told.partition("**What extends it already**")
    assert "`move`: `def move(self, far: int) -> None:` [relay/vehicle.py:12]" in to_write
    assert "`stop`: `def stop(self) -> None:` [relay/vehicle.py:15]" in to_write
    assert "hoot" not in to_write.partition("**To be written")[2]
    assert "`class Bike(Vehicle):` [relay/vehicle.py:22]" in done


def entity(name: str, line: int, code: str = "") -> Entity:
    read = CodeFact("code", cited("a.py", line, line + code.count("\n")), text=code) if code else None
    return Entity(name, "class", cited("a.py", line), "", "", 1.0, ("find",), False, read)


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
    use = CodeFact("reference", cited("b.py", 3, quote=line), about="Vehicle")
    assert bool(derived("Vehicle", [use])) is extends


def opened(code: str) -> list[tuple[str, int]]:
    return [(claim.text.split("`")[1], claim.citations[0].start_line) for claim in left_open(entity("V", 5, code))]


def test_abstract_members_are_left_open_and_others_are_not() -> None:
    code = "class V:\n    @abstractmethod\n    def a(self): ...\n    def b(self):\n        return 1"
    assert opened(code) == [("a", 7)]
    assert opened("abstract class V {\n  abstract void move(int far);\n  void b() {}") == [("move", 6)]
