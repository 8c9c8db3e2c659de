"""What passes its work on is told with what it passes it to; a shortcut gives way to its method."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.question.analysis import analyse
from actors.capabilities.code_analysis.ranking.delegation import SHORT_LINES, passed_on, ranked_places
from actors.capabilities.code_analysis.ranking.relevance import Entity
from tests.capabilities.code_analysis.support import FILES, AnalysisHarness, cited, mark_faults, write_files

CRATE = '''class Crate:
    """Holds apples."""

    def pack(self, apples, *, gently=True):
        """Put apples into the crate."""
        return self._do_pack(apples, gently=gently)

    def _do_pack(self, apples, *, gently):
        for apple in apples:
            self._weigh(apple)
            self._bruise_check(apple, gently)
        return self

    def _weigh(self, apple):
        """Weigh one apple."""
        return apple.grams

    def _bruise_check(self, apple, gently):
        """Turn an apple down that has a bruise."""
        if apple.bruised and gently:
            raise ValueError("bruised")
'''


def lead(name: str = "Crate.pack", kind: str = "method", lines: int = 2) -> Entity:
    place = cited("crate.py", 10, 20, name)
    code = CodeFact("code", place, text="\n".join(["x"] * lines))
    return Entity(name, kind, place, "", "", 1.0, ("find",), False, code)


def callee(name: str, about: str = "Crate.pack") -> CodeFact:
    return CodeFact("callee", cited("crate.py", 30, 40, name), name=name, about=about, symbol_kind="method")


def called(entity: Entity, *facts: CodeFact) -> str | None:
    inner = passed_on(entity, facts)
    return None if inner is None else inner.name


def test_a_place_passes_its_work_on_when_it_calls_one_thing_of_its_own_name_alone() -> None:
    long = SHORT_LINES + 30
    assert called(lead(lines=long), callee("Crate._do_pack")) == "Crate._do_pack"
    assert called(lead(lines=long), callee("Crate._do_pack", about="pack")) == "Crate._do_pack"
    assert called(lead(lines=long), callee("Crate._do_pack"), callee("Crate._weigh")) is None
    assert called(lead(lines=long), callee("Crate._do_pack", about="Crate.unpack")) is None
    assert called(lead(lines=long)) is None
    assert called(lead(kind="class", lines=1), callee("Crate._do_pack")) is None


@pytest.mark.parametrize(("lines", "expected"), [(SHORT_LINES, "Crate.fill"), (SHORT_LINES + 1, None)])
def test_a_short_place_passes_its_work_on_under_another_name(lines: int, expected: str | None) -> None:
    assert called(lead(lines=lines), callee("Crate.fill")) == expected


def test_common_methods_and_itself_are_nothing_to_pass_work_on_to() -> None:
    assert called(lead(), callee("Crate.pack"), callee("Shelf.append")) is None
    assert called(lead(), callee("Shelf.append"), callee("Crate._do_pack")) == "Crate._do_pack"


def found(name: str, kind: str, line: int, length: int, score: float, doc: str, file: str = "crate.go") -> CodeFact:
    place = cited(file, line, line + length, name)
    return CodeFact("definition", place, name=name, symbol_kind=kind, docstring=doc, score=score, step="find")


def test_a_method_takes_the_place_of_the_function_that_is_its_shortcut() -> None:
    says = "Pack puts apples into a crate."
    shortcut = found("Pack", "function", 1, 2, 1.0, says)
    other = found("PackAll", "function", 40, 2, 0.8, "")
    method = found("Crate.Pack", "method", 10, 9, 0.1, says)
    ranked = ranked_places(analyse("How does one pack apples?"), [shortcut, other, method])
    assert [entity.name for entity in ranked] == ["Crate.Pack", "PackAll"]


@pytest.mark.parametrize(
    "method",
    [
        found("Crate.Pack", "method", 10, 9, 0.1, "Something else."),
        found("Crate.Pack", "method", 10, 2, 0.1, "Packs."),
        found("Crate.Pack", "method", 10, 9, 0.1, "Packs.", "far/crate.go"),
        found("Crate.Pack", "class", 10, 9, 0.1, "Packs."),
        found("Pack", "function", 10, 9, 0.1, "Packs."),
    ],
)
def test_a_function_that_is_not_like_a_method_keeps_its_place(method: CodeFact) -> None:
    function = found("Pack", "function", 1, 2, 1.0, "Packs.")
    ranked = ranked_places(analyse("How does one pack apples?"), [function, method])
    assert ranked[0].name == "Pack"
    assert ranked[0].citation.start_line == 1 or method.name == "Pack"


def test_lines_without_a_name_keep_their_places() -> None:
    lines = [found("", "", line, 2, 1.0, "") for line in (10, 20)]
    assert len(ranked_places(analyse("How does one pack apples?"), lines)) == 2


async def test_an_answer_goes_on_through_what_only_passes_its_work_on(tmp_path: Path) -> None:
    write_files(tmp_path / "repo", {**FILES, "fruit/crate.py": CRATE})
    desk = await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state")
    document = await desk.ask("How does Crate.pack work?")
    answer = document["answer"]
    assert answer.startswith("`Crate.pack` is a method")
    assert "In `Crate._do_pack`:" in answer
    assert "- `Crate.pack` calls `Crate._do_pack` [fruit/crate.py:6]" in answer
    assert "- `Crate._do_pack` calls `Crate._bruise_check` [fruit/crate.py:11]" in answer
    assert not mark_faults(answer, document["citations"])
