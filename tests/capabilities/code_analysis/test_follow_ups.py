"""Sessions of several questions: what «it», «its tests» and «the first caller» stand for, and that it lasts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.capabilities.code_analysis.evidence.claims import Claim, ClaimRole
from actors.capabilities.code_analysis.question.analysis import Question, analyse
from actors.capabilities.code_analysis.session.entity_graph import (
    MAX_EDGES,
    MAX_ENTITIES,
    Edge,
    EntityGraph,
    Node,
    bounded,
    grown,
)
from actors.capabilities.code_analysis.session.follow_up import in_context
from actors.capabilities.code_analysis.session.remembered import SessionTurn
from actors.capabilities.code_analysis.session.traversal_state import read_state
from tests.capabilities.code_analysis.support import FILES, AnalysisHarness, cited, mark_faults, pipeline, write_files

GRAPH = EntityGraph(
    nodes=(Node("deliver", "van.py"),),
    edges=(
        Edge("deliver", "called_by", "run"),
        Edge("deliver", "called_by", "main"),
        Edge("deliver", "tested_by", "test_deliver"),
        Edge("deliver", "defined_in", "relay/van.py"),
    ),
    focus=("deliver",),
)


def turn(question: str, *symbols: str) -> SessionTurn:
    return SessionTurn(question, symbols=symbols)


def asked(text: str, graph: EntityGraph = GRAPH, *before: str) -> Question:
    return in_context(analyse(text), [turn(question) for question in before or ("What is deliver?",)], graph)


@pytest.mark.parametrize(
    ("text", "kind", "names"),
    [
        ("and who calls it?", "who_calls", ("deliver",)),
        ("Its tests?", "tested", ("deliver",)),
        ("What are its tests?", "tested", ("deliver",)),
        ("Who last changed it?", "changed", ("deliver",)),
        ("What else changes with it?", "changes_with", ("deliver",)),
        ("What does the first caller do?", "what", ("run",)),
        ("What does the second caller do?", "what", ("main",)),
        ("What does its last caller do?", "what", ("main",)),
        ("How does its caller work?", "how", ("run",)),
        ("What does the third caller do?", "what", ()),
        ("and accept?", "what", ("accept",)),
        ("What about `Depot.accept`?", "what", ("Depot.accept",)),
        ("Who calls `accept` before it?", "who_calls", ("accept",)),
    ],
)
def test_a_later_question_is_read_in_its_session(text: str, kind: str, names: tuple[str, ...]) -> None:
    question = asked(text)
    assert (question.kind, question.identifiers) == (kind, names)


def test_a_file_that_is_referred_to_is_a_path() -> None:
    question = asked("What does its file do?")
    assert question.paths == ("relay/van.py",)
    assert asked("When was it changed last?", EntityGraph(focus=("relay/van.py",))).paths == ("relay/van.py",)


def test_they_are_all_that_the_last_answer_was_about() -> None:
    both = EntityGraph(focus=("Mount", "Route"))
    assert asked("Who calls them?", both).identifiers == ("Mount", "Route")
    assert asked("Who calls it?", both).identifiers == ("Mount",)


def test_a_question_that_only_names_another_thing_asks_the_same_of_it() -> None:
    before = ("Who calls deliver?", "and accept?")
    assert asked("and release?", GRAPH, *before).kind == "who_calls"


def test_without_a_session_a_question_stays_as_it_is() -> None:
    question = analyse("Who calls it?")
    assert in_context(question, [], EntityGraph()) == question


@given(st.text(max_size=80), st.lists(st.text(max_size=40), max_size=3))
def test_no_text_and_no_graph_breaks_the_reading(text: str, names: list[str]) -> None:
    graph = EntityGraph(focus=tuple(names), edges=tuple(Edge(name, "called_by", name) for name in names))
    assert in_context(analyse(text), [turn(name) for name in names], graph).text == text


def claim(role: ClaimRole, subject: str, line: int = 1, **more: Any) -> Claim:
    return Claim(role, "", (cited("a.py", line),), subject=subject, **more)


def test_a_graph_grows_by_what_checked_claims_showed() -> None:
    told = [claim("lead", "deliver"), claim("caller", "run", 3), claim("caller", "", 4), claim("test", "test_it", 5)]
    told.append(claim("step", "accept", 6, source="deliver"))
    graph = grown(EntityGraph(), told)
    assert graph.focus == ("deliver",)
    assert graph.related("deliver", "called_by") == ["run", "a.py"]
    assert graph.related("deliver", "tested_by") == ["test_it"]
    assert graph.related("deliver", "calls") == ["accept"]
    assert graph.related("accept", "called_by") == ["deliver"]
    assert {node.name: node.file for node in graph.nodes}["run"] == "a.py"


def test_an_answer_without_a_subject_leaves_what_the_session_is_about() -> None:
    assert grown(GRAPH, [claim("item", "x")]).focus == ("deliver",)
    assert grown(GRAPH, [], ("van.py",)).focus == ("van.py",)


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_graph_forgets_what_came_first(more: int) -> None:
    nodes = tuple(Node(f"n{n}", "a.py") for n in range(MAX_ENTITIES + more))
    edges = tuple(Edge(f"n{n}", "calls", "x") for n in range(MAX_EDGES + more))
    graph = bounded(EntityGraph(nodes, edges))
    assert graph.nodes == nodes[max(0, more) :]
    assert graph.edges == edges[max(0, more) :]


def test_a_graph_that_cannot_be_read_is_an_empty_one() -> None:
    assert read_state({"graph": {"nodes": 5}}, "s").graph == EntityGraph()


SESSION = {
    "relay/night.py": "from relay.van import deliver_parcel\n\n\ndef night_shift(a, b):\n"
    '    """Deliver while all sleep."""\n    return deliver_parcel(a, b)\n',
    "tests/test_van.py": "from relay.van import deliver_parcel\n\n\ndef test_a_van_delivers():\n"
    "    assert deliver_parcel(a, b) == 1\n",
}


@pytest.mark.long
async def test_a_session_of_several_questions_goes_on_in_other_processes(tmp_path: Path) -> None:
    write_files(tmp_path / "repo", {**FILES, **SESSION})
    answers = []
    for question in ("What is deliver_parcel?", "and who calls it?", "its tests?", "What does the first caller do?"):
        # A desk of its own opens the store anew, as another process does.
        desk = await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state")
        document = await desk.ask(question, "s")
        assert mark_faults(document["answer"], document["citations"]) == []
        answers.append(document["answer"])
    assert "- `night_shift`: `return deliver_parcel(a, b)` [relay/night.py:6]" in answers[1]
    assert "- `test_a_van_delivers`: `assert deliver_parcel(a, b) == 1` [tests/test_van.py:5]" in answers[2]
    assert answers[3].startswith("`night_shift` is a function in `relay/night.py`")


async def test_another_session_knows_nothing_of_it(tmp_path: Path) -> None:
    write_files(tmp_path / "repo", FILES)
    desk = await AnalysisHarness.open(tmp_path / "repo", tmp_path / "state")
    await desk.ask("What is deliver_parcel?", "one")
    assert "deliver_parcel" not in (await desk.ask("Who calls it?", "two"))["answer"]


@pytest.mark.parametrize("name", ["code_analysis", "code_analysis_small", "code_analysis_hedged"])
async def test_every_pipeline_keeps_the_graph(relay: AnalysisHarness, name: str) -> None:
    desk = relay.variant(relay.capability, pipeline(name))
    await desk.run("How does deliver_parcel work?", f"g-{name}")
    again = await desk.run("Who calls it?", f"g-{name}")
    assert again.outputs["perception"]["traversal_state"]["graph"]["focus"][0] == "deliver_parcel"
    assert again.outputs["intent"]["question"]["identifiers"] == ["deliver_parcel"]


async def test_a_question_that_refers_back_and_is_the_first_of_its_session_is_told_how_to_ask_both(
    relay: AnalysisHarness,
) -> None:
    for session_id in (None, "new"):
        document = await relay.ask("Who uses it?", session_id)
        assert document["terminal_reason"] == "clarification_required"
        assert (
            "It refers back, and is the first of its session: ask both in one (`--session NAME`" in document["answer"]
        )
        assert document["answer"].endswith("do you want to know about?")


async def test_only_what_refers_back_to_nothing_is_told_of_sessions(relay: AnalysisHarness) -> None:
    assert "session" not in (await relay.ask("?!"))["answer"]
    await relay.ask("What does Depot do?", "tour")
    assert "session" not in (await relay.ask("Who uses it?", "tour"))["answer"]
