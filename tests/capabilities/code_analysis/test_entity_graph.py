"""What evidence showed of symbols and files is known to later sessions, and counts while the file is unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.capabilities.code_analysis.evidence.facts import CodeFact, FactKind, ProducedRange, facts_of
from actors.capabilities.code_analysis.session.relation_facts import relations_of
from runtime.codebase.citation import ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.knowledge.relation import Relation
from runtime.codebase.tools.symbol_usage import explore_symbol_usage
from tests.capabilities.code_analysis.support import FILES, AnalysisHarness, cited, step_of, write_files

QUESTION = "How does deliver_parcel work?"


def kept(desk: AnalysisHarness, name: str) -> list[Relation]:
    return desk.relations.about(str(desk.root.resolve()), [name])


def told(relations: list[Relation]) -> set[tuple[str, str, str]]:
    return {(each.source, each.kind, each.target) for each in relations}


async def explored(desk: AnalysisHarness, symbol: str) -> Any:
    """The usage of a symbol as an agent of this desk sees it."""
    repository = desk.repository
    codebase = Codebase.open(Path(repository["root"]), Path(repository["index_path"]))
    result = explore_symbol_usage(codebase.remembering(kept(desk, symbol)), symbol)
    codebase.close()
    return result


async def test_a_run_keeps_what_its_tools_showed_with_the_lines_that_show_it(own_root: Path, tmp_path: Path) -> None:
    desk = await AnalysisHarness.open(own_root, tmp_path / "state")
    await desk.run(QUESTION)
    found = kept(desk, "Depot.accept")
    assert ("deliver_parcel", "calls", "Depot.accept") in told(found)
    call = next(each for each in found if each.kind == "calls" and each.source == "deliver_parcel")
    line = (own_root / call.source_file).read_text(encoding="utf-8").split("\n")[call.start_line - 1]
    assert line.strip() == "target.accept(parcel)"


async def test_another_session_after_a_restart_is_told_what_an_earlier_one_saw(own_root: Path, tmp_path: Path) -> None:
    first = await AnalysisHarness.open(own_root, tmp_path / "state")
    await first.run(QUESTION, "s-one")
    later = await AnalysisHarness.open(own_root, tmp_path / "state")
    envelope = await later.run("Who calls is_full?", "s-two")
    tried = envelope.goals.finished_rounds[0].synthesis["attempts"]
    strategies = [attempt["strategy"] for attempts in tried.values() for attempt in attempts]  # type: ignore[attr-defined]
    assert "entity_graph" in strategies
    assert "deliver_parcel" in {each.source for each in kept(later, "accept")}


def edge(**more: Any) -> Relation:
    """Something that the index cannot know: that a line of the settings speaks of `is_full`."""
    given = Relation("deliver_parcel", "relay/van.py", "calls", "is_full", "relay/depot.py", 6, 6, "")
    return msgspec.structs.replace(given, **more)


@pytest.fixture
async def desk(own_root: Path, tmp_path: Path) -> AnalysisHarness:
    text = FILES["relay/van.py"].replace("oldest parcel", "oldest parcel unless is_full says no")
    write_files(own_root, {"relay/van.py": text})
    return await AnalysisHarness.open(own_root, tmp_path / "state")


async def remembered(desk: AnalysisHarness, relation: Relation) -> list[dict[str, Any]]:
    """What a usage of `is_full` tells of a relation that was kept."""
    desk.relations.keep(str(desk.root.resolve()), [relation])
    result = await explored(desk, "is_full")
    assert [attempt.strategy for attempt in result.attempts][-1] == "entity_graph"
    rows: list[dict[str, Any]] = result.data["remembered"]
    return rows


def sha256_of(desk: AnalysisHarness, file: str) -> str:
    repository = desk.repository
    codebase = Codebase.open(Path(repository["root"]), Path(repository["index_path"]))
    try:
        return codebase.sha256(file)
    finally:
        codebase.close()


async def test_what_the_index_does_not_show_is_told_from_memory_and_cited(desk: AnalysisHarness) -> None:
    rows = await remembered(desk, edge(start_line=7, end_line=7, content_sha256=sha256_of(desk, "relay/van.py")))
    assert [(row["name"], row["relation"], row["start_line"]) for row in rows] == [("deliver_parcel", "calls", 7)]
    assert "is_full" in rows[0]["text"]
    result = await explored(desk, "is_full")
    assert result.citations[rows[0]["citation"]].file == "relay/van.py"


@pytest.mark.parametrize(
    "changed",
    [
        {"content_sha256": "0" * 64},
        {"start_line": 99, "end_line": 99},
        {"start_line": 0, "end_line": 7},
        {"start_line": 1, "end_line": 1},
        {"target_file": "relay/van.py"},
        {"target": "Other.is_full"},
        {"kind": "defined_in"},
        {"source_file": "relay/gone.py"},
        {"source_file": ".env"},
    ],
    ids="-".join,
)
async def test_a_relation_that_does_not_hold_is_not_told(desk: AnalysisHarness, changed: dict[str, Any]) -> None:
    holds = edge(start_line=7, end_line=7, content_sha256=sha256_of(desk, "relay/van.py"))
    assert await remembered(desk, msgspec.structs.replace(holds, **changed)) == []


async def test_a_relation_is_gone_when_its_file_changes_and_back_with_its_content(desk: AnalysisHarness) -> None:
    path = desk.root / "relay/van.py"
    text = path.read_text(encoding="utf-8")
    holds = edge(start_line=7, end_line=7, content_sha256=sha256_of(desk, "relay/van.py"))
    assert await remembered(desk, holds)
    write_files(desk.root, {"relay/van.py": text + "# below\n"}, age_s=30)
    assert (await explored(desk, "is_full")).data["remembered"] == []
    write_files(desk.root, {"relay/van.py": text}, age_s=20)
    assert (await explored(desk, "is_full")).data["remembered"]


async def test_what_the_index_shows_is_not_told_twice(desk: AnalysisHarness) -> None:
    sha256 = sha256_of(desk, "relay/depot.py")
    line = 1 + FILES["relay/depot.py"].split("\n").index("        if is_full(self.parcels):")
    known = edge(source="Depot.accept", source_file="relay/depot.py", start_line=line, end_line=line)
    assert await remembered(desk, msgspec.structs.replace(known, content_sha256=sha256)) == []
    assert len((await explored(desk, "is_full")).data["callers"]) == 1


def usage(**parts: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """The facts of a usage of `f` about which a caller is remembered."""
    row = {"relation": "calls", "name": "g", "file": "a.py", "start_line": 1, "end_line": 1, "citation": 0, "text": ""}
    result = _result({"symbol": "f", "definitions": [], "remembered": [row], **parts})
    return [(fact.kind, fact.name) for fact in facts_of(step_of("explore_symbol_usage"), result)]


def _result(data: dict[str, Any]) -> ToolResult:
    return ToolResult("ok", data, (cited("a.py", 1), cited("b.py", 2)))


def test_a_remembered_caller_is_a_fact_where_the_index_has_no_use_at_all() -> None:
    of_index = {"citation": 1, "enclosing": "h", "kind": "call", "file": "b.py", "line": 2}
    assert usage() == [("caller", "g")]
    assert usage(callers=[of_index]) == [("caller", "h")]
    assert usage(references=[of_index]) == [("reference", "h")]


RANGES = [ProducedRange(file, 1, 50, f"hash of {file}") for file in ("a.py", "b.py", "c.py")]


def fact(kind: FactKind, name: str, file: str, line: int = 1, **more: Any) -> CodeFact:
    return CodeFact(kind, cited(file, line), "s", name, **more)


def test_each_kind_of_fact_gives_its_relation() -> None:
    facts = [
        fact("definition", "K.f", "a.py", 3),
        fact("caller", "g", "b.py", 7, about="f"),
        fact("reference", "", "b.py", 8, about="K.f"),
        fact("importer", "", "c.py", 1, about="f"),
        fact("test", "test_f", "c.py", 9, about="f"),
        fact("callee", "h", "c.py", 2, about="f", at_line=4),
        fact("together", "b.py", "b.py", 1, about="a.py"),
    ]
    made = relations_of(facts, RANGES)
    assert [(r.source, r.source_file, r.kind, r.target, r.target_file, r.start_line) for r in made] == [
        ("K.f", "a.py", "defined_in", "a.py", "a.py", 3),
        ("g", "b.py", "calls", "K.f", "a.py", 7),
        ("b.py", "b.py", "uses", "K.f", "a.py", 8),
        ("c.py", "c.py", "imports", "K.f", "a.py", 1),
        ("test_f", "c.py", "tests", "K.f", "a.py", 9),
        ("K.f", "a.py", "calls", "h", "c.py", 4),
        ("b.py", "b.py", "changes_with", "a.py", "a.py", 1),
    ]  # fmt: skip


def test_a_name_of_several_definitions_gives_no_relation() -> None:
    two = [fact("definition", "K.f", "a.py"), fact("definition", "L.f", "b.py")]
    uses = [fact("caller", "g", "c.py", about="f"), fact("caller", "g", "c.py", about="L.f")]
    made = [r for r in relations_of([*two, *uses], RANGES) if r.kind == "calls"]
    assert [r.target for r in made] == ["L.f"]


def test_common_names_and_lines_that_no_tool_returned_give_no_relation() -> None:
    facts = [
        fact("definition", "f", "a.py"),
        fact("caller", "g", "unread.py", about="f"),
        fact("callee", "L.append", "b.py", about="f", at_line=4),
        fact("callee", "h", "b.py", about="f"),
    ]
    assert [r.kind for r in relations_of(facts, RANGES)] == ["defined_in"]
