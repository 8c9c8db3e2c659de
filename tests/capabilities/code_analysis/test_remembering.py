"""What a session and a repository remember, how much of it, and that nothing stale is used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.capabilities.code_analysis.session import recall
from actors.capabilities.code_analysis.session import traversal_state as limits
from actors.capabilities.code_analysis.session.remembered import SessionTurn
from actors.capabilities.code_analysis.session.traversal_state import (
    Explored,
    Snippet,
    TraversalState,
    grown,
    read_state,
)
from runtime.memory.sessions import SessionStore
from tests.capabilities.code_analysis.support import FILES, AnalysisHarness, write_files

QUESTION = "How does deliver_parcel carry a parcel?"
ALIKE = "How does deliver_parcel carry one parcel?"


def names(count: int) -> tuple[str, ...]:
    return tuple(f"x{n}" for n in range(count))


BOUNDED: list[tuple[str, str, int]] = [
    ("explored_files", "files", limits.MAX_FILES),
    ("explored_symbols", "symbols", limits.MAX_SYMBOLS),
    ("call_chain", "calls", limits.MAX_CALLS),
    ("pending_files", "pending_files", limits.MAX_PENDING),
    ("pending_symbols", "pending_symbols", limits.MAX_PENDING),
    ("detected_languages", "languages", limits.MAX_PATTERNS),
    ("repo_patterns", "patterns", limits.MAX_PATTERNS),
]


def test_the_limits_are_those_that_are_told() -> None:
    told = (limits.MAX_FILES, limits.MAX_SYMBOLS, limits.MAX_SNIPPETS, limits.MAX_CALLS)
    assert told == (100, 200, 50, 20)


@pytest.mark.parametrize("more", [-1, 0, 1])
@pytest.mark.parametrize(("field", "given_as", "limit"), BOUNDED, ids=[row[0] for row in BOUNDED])
def test_beyond_its_limit_a_list_forgets_what_came_first(field: str, given_as: str, limit: int, more: int) -> None:
    touched = names(limit + more)
    state = grown(TraversalState(), Explored(**{given_as: touched}))  # type: ignore[arg-type]
    assert getattr(state, field) == touched[max(0, more) :]


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_beyond_their_limit_the_first_snippets_are_forgotten(more: int) -> None:
    snippets = tuple(Snippet("a.py", n, n) for n in range(1, limits.MAX_SNIPPETS + more + 1))
    assert grown(TraversalState(), Explored(snippets=snippets)).relevant_snippets == snippets[max(0, more) :]


def test_what_is_touched_again_is_the_newest_and_what_is_explored_is_pending_no_more() -> None:
    state = grown(TraversalState(), Explored(files=("a", "b"), pending_symbols=("f", "g")))
    state = grown(state, Explored(files=("a",), symbols=("f",), tokens=5))
    assert state.explored_files == ("b", "a")
    assert state.pending_symbols == ("g",)
    assert state.tokens_used == 5


@given(
    st.none() | st.dictionaries(st.sampled_from(["explored_files", "call_chain"]), st.lists(st.integers() | st.text()))
)
def test_whatever_a_session_kept_gives_a_state_within_its_limits(written: dict[str, Any] | None) -> None:
    state = read_state(written, "s")
    assert state.session_id == "s"
    assert len(state.explored_files) <= limits.MAX_FILES


async def test_a_session_goes_on_where_it_stood(relay: AnalysisHarness) -> None:
    first = await relay.run("How does deliver_parcel work?", "s-state")
    assert first.outputs["integration"]["traversal_state_persisted"]
    second = await relay.run("Where is DepotFullError?", "s-state")
    state = second.outputs["perception"]["traversal_state"]
    assert "relay/van.py" in state["explored_files"]
    assert any("deliver_parcel" in name for name in state["explored_symbols"])
    assert any(call.startswith("deliver_parcel -> ") for call in state["call_chain"])
    understood = second.outputs["perception"]["memory_context"]["understood"]
    assert "deliver_parcel" in str([entry for entry in understood if entry["file"] == "relay/van.py"])


async def test_every_part_of_the_state_is_written(own_root: Path, tmp_path: Path) -> None:
    desk = await AnalysisHarness.open(own_root, tmp_path / "state")
    await desk.run("Who calls accept, and which tests use relay/depot.py?", "s")
    await desk.run("How does deliver_parcel work in relay/van.py?", "s")
    state = (await desk.run("Where is DepotFullError?", "s")).outputs["perception"]["traversal_state"]
    may_be_empty = {"pending_files", "pending_symbols"}
    names = {field.name for field in msgspec.structs.fields(TraversalState)}
    assert {name for name in names - may_be_empty if not state.get(name)} == set()
    assert state["scope_path"] == "relay/van.py"
    assert state["tokens_used"] > 0
    assert "test: tests/" in state["repo_patterns"]
    assert not set(state.get("pending_files", ())) & set(state["explored_files"])


def test_folders_that_hold_no_source_are_patterns() -> None:
    files = ["tests/a.py", "tests/b/c.py", "docs/x.md", "README.md", "relay/van.py"]
    assert limits.patterns_of(files) == ("test: tests/", "docs: docs/", "docs: README.md")


async def test_without_a_session_no_state_is_kept(relay: AnalysisHarness) -> None:
    assert not (await relay.run(QUESTION)).outputs["integration"]["traversal_state_persisted"]


def test_the_last_state_of_a_session_is_kept_over_a_restart(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "s.sqlite")
    assert store.state("s") is None
    store.keep_state("s", {"n": 1})
    store.keep_state("s", {"n": 2})
    store.close()
    assert SessionStore(tmp_path / "s.sqlite").state("s") == {"n": 2}


@pytest.mark.parametrize(("limit_tokens", "kept"), [(0, 0), (9, 0), (10, 1), (19, 1), (20, 2), (99, 3)])
def test_turns_are_recalled_within_their_tokens_the_newest_first(limit_tokens: int, kept: int) -> None:
    turns = [SessionTurn("q" * 20, f"{n}" * 20) for n in range(3)]
    assert recall.within_tokens(turns, limit_tokens) == turns[3 - kept :]


async def opened(root: Path, state: Path) -> AnalysisHarness:
    write_files(root, FILES)
    return await AnalysisHarness.open(root, state)


def recalled(envelope: Any) -> list[str]:
    return [answer["question"] for answer in envelope.outputs["perception"]["memory_context"]["earlier_answers"]]


async def test_an_answer_to_a_similar_question_is_recalled_and_its_lines_are_read_again(tmp_path: Path) -> None:
    desk = await opened(tmp_path / "repo", tmp_path / "state")
    await desk.run(QUESTION)
    again = await desk.run(ALIKE)
    assert recalled(again) == [QUESTION]
    assert "recall0" in again.goals.finished_rounds[0].synthesis["attempts"]  # type: ignore[operator]
    assert recalled(await desk.run("Where is the depot full?")) == []


async def test_an_answer_is_not_used_when_a_cited_line_has_changed(tmp_path: Path) -> None:
    desk = await opened(tmp_path / "repo", tmp_path / "state")
    await desk.run(QUESTION)
    path = "relay/van.py"
    write_files(desk.root, {path: FILES[path] + "# below the cited lines\n"}, age_s=30)
    assert recalled(await desk.run(ALIKE)) == [QUESTION]
    write_files(desk.root, {path: FILES[path].replace("oldest", "newest")}, age_s=20)
    assert QUESTION not in recalled(await desk.run(ALIKE + " now"))


async def test_a_file_that_has_changed_is_not_understood_any_more(tmp_path: Path) -> None:
    desk = await opened(tmp_path / "repo", tmp_path / "state")
    await desk.run(QUESTION, "s")
    write_files(desk.root, {"relay/van.py": FILES["relay/van.py"] + "# new\n"}, age_s=30)
    later = await desk.run("Where is DepotFullError?", "s")
    files = {entry["file"] for entry in later.outputs["perception"]["memory_context"]["understood"]}
    assert "relay/van.py" not in files


async def test_a_partial_answer_is_not_kept(tmp_path: Path) -> None:
    desk = await opened(tmp_path / "repo", tmp_path / "state")
    await desk.run(QUESTION, limits={"max_agent_hops": 6})
    assert recalled(await desk.run(ALIKE)) == []


async def test_an_answer_is_the_same_with_and_without_what_was_remembered(tmp_path: Path) -> None:
    desk = await opened(tmp_path / "repo", tmp_path / "state")
    first = await desk.ask(QUESTION)
    second = await desk.ask(QUESTION)
    assert (first["answer"], first["citations"]) == (second["answer"], second["citations"])
    assert first["usage"]["tool_calls"] == second["usage"]["tool_calls"]
