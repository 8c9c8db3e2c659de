"""The end of a run: what is kept of finished and unfinished rounds, what is said, and what is remembered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from actors.capabilities.code_analysis.agents import planner, synthesizer
from actors.capabilities.code_analysis.capability import CAPABILITY
from runtime.agents.capability import StageContext, StageInput
from runtime.bus.queries import LocalQueries
from runtime.errors import StateStorageError
from runtime.run.stage_view import StageView
from serve.answer_document import EXIT_BOUND, exit_status
from tests.capabilities.code_analysis.support import AnalysisHarness, mark_faults, reasoning, with_agents, write_files

QUESTION = "How does deliver_parcel work?"
ONE_ROUND = 7  # executions of a run that is done after one round, integration included


async def nothing_in_round_one(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
    """Plans nothing in the first round, and then what the rules plan."""
    output = await planner.by_rules(context, view, given)
    return output if view.goals.round_number > 1 else {**output, "steps": []}


SLOW_STARTER = with_agents(planner=reasoning("planner", nothing_in_round_one))


@pytest.mark.parametrize("hops", [5, 6])
async def test_a_bound_in_the_middle_of_the_first_round_still_shows_what_the_tools_found(
    relay: AnalysisHarness, hops: int
) -> None:
    document = await relay.ask(QUESTION, limits={"max_agent_hops": hops})
    whole = await relay.ask(QUESTION)
    assert document["terminal_reason"] == "max_agent_hops_exceeded"
    assert document["partial"]
    assert document["citations"] == whole["citations"]
    assert "This answer is partial: the run was ended by a bound (max_agent_hops_exceeded)." in document["answer"]
    assert mark_faults(document["answer"], document["citations"]) == []
    assert document["open_goals"]


@pytest.mark.parametrize(("hops", "finds"), [(8, False), (9, False), (10, True), (11, True), (12, True)])
async def test_a_bound_in_the_middle_of_a_later_round_still_shows_what_that_round_found(
    relay: AnalysisHarness, hops: int, finds: bool
) -> None:
    document = await relay.variant(SLOW_STARTER).ask(QUESTION, limits={"max_agent_hops": hops})
    assert bool(document["citations"]) is finds
    assert document["partial"] is (hops < 12)
    assert ("deliver_parcel` is a function" in document["answer"]) is finds


async def test_claims_of_a_round_that_was_closed_before_the_bound_are_shown_once(relay: AnalysisHarness) -> None:
    async def never_enough(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
        output = await CAPABILITY.agents["critic"].reasoners["rules"](context, view, given)
        left = list(output["goal_status"])
        return {**output, "verdict": "next_stage", "goal_status": dict.fromkeys(left, "partial"), "satisfied_goals": []}

    desk = relay.variant(with_agents(critic=reasoning("critic", never_enough)))
    document = await desk.ask(QUESTION, limits={"max_iterations": 0})
    whole = await relay.ask(QUESTION)
    assert document["terminal_reason"] == "max_iterations_exceeded"
    assert document["citations"] == whole["citations"]
    assert document["answer"].count("is a function in") == 1
    shown = [(c["file"], c["start_line"], c["quote"]) for c in document["findings"][0]["citations"]]
    assert len(set(shown)) == len(shown)


@pytest.mark.parametrize("hops", [2, 3, 4])
async def test_a_bound_before_the_first_tool_does_not_say_that_nothing_is_there(
    relay: AnalysisHarness, hops: int
) -> None:
    document = await relay.ask(QUESTION, limits={"max_agent_hops": hops})
    assert document["terminal_reason"] == "max_agent_hops_exceeded"
    assert document["citations"] == []
    assert "Nothing in this repository" not in document["answer"]
    assert "ended by a bound" in document["answer"]
    assert (document["status"], document["confidence"], document["partial"]) == ("not_found", 0.0, True)
    assert [(part["status"], part["citations"]) for part in document["parts"]] == [("not_found", [])]
    assert exit_status(document) == EXIT_BOUND


@pytest.mark.parametrize("hops", [5, 6])
async def test_what_was_found_before_a_bound_is_an_answer_though_a_partial_one(
    relay: AnalysisHarness, hops: int
) -> None:
    document = await relay.ask(QUESTION, limits={"max_agent_hops": hops})
    assert document["citations"]
    assert (document["status"], document["partial"]) == ("answered", True)
    assert document.get("confidence") != 0
    assert exit_status(document) == EXIT_BOUND


async def test_without_a_single_tool_call_an_answer_says_that_nothing_was_found(relay: AnalysisHarness) -> None:
    document = await relay.ask(QUESTION, limits={"max_tool_calls": 0})
    assert (document["terminal_reason"], document["bound"], document["citations"]) == (
        "completed",
        "max_tool_calls",
        [],
    )
    assert (document["status"], document["confidence"]) == ("not_found", 0.0)
    assert exit_status(document) == EXIT_BOUND


async def test_a_bound_before_the_repository_was_opened_says_that(relay: AnalysisHarness) -> None:
    document = await relay.ask(QUESTION, limits={"max_agent_hops": 1})
    assert document["answer"] == "Nothing was looked at: the run ended before the repository was opened."
    assert document["citations"] == document["findings"] == document["files_examined"] == []
    assert (document["status"], document["confidence"]) == ("not_found", 0.0)


async def test_a_question_whose_words_occur_nowhere_is_answered_with_nothing_found(relay: AnalysisHarness) -> None:
    document = await relay.ask("Where is the xylophone orchestra tuned?")
    assert document["terminal_reason"] == "completed"
    assert document["citations"] == []
    assert document["answer"].startswith("I did not find this. A search for")
    assert document["open_goals"] == [finding["goal"] for finding in document["findings"]]
    assert all(finding["status"] in {"open", "pending"} for finding in document["findings"])


async def test_a_comparison_begins_with_each_of_what_is_compared(relay: AnalysisHarness) -> None:
    for question in ("Compare `Depot` and `RelayError`", "Compare Depot and RelayError"):
        document = await relay.ask(question)
        assert "`RelayError` is a class in `relay/errors.py`" in document["answer"]
        assert "`Depot` is a class in `relay/depot.py`" in document["answer"]


async def test_what_no_round_found_is_admitted_in_the_answer(relay: AnalysisHarness) -> None:
    document = await relay.ask("Where is the parcel insurance premium enforced?")
    assert document["open_goals"]
    assert document["citations"]
    assert document["status"] == "not_found"
    assert document["answer"].startswith("I did not find this. Likely places:")


@pytest.mark.long
async def test_files_that_were_left_alone_are_counted_and_never_shown(relay: AnalysisHarness) -> None:
    for question in ("What is RELAY_TOKEN?", "Where is hunter2hunter2?", "What is in .env?"):
        document = await relay.ask(question)
        assert "Not looked at: 1 secret." in document["answer"]
        assert "hunter2" not in str(document["citations"])
        assert ".env" not in document["files_examined"]


async def test_a_setting_lets_secret_files_be_read_and_cited(own_root: Path, tmp_path: Path) -> None:
    services = CAPABILITY.open_services({"allow_secrets": True})
    closed = CAPABILITY.open_services({"allow_secrets": False})
    desk = await AnalysisHarness.open(own_root, tmp_path / "state")
    assert services.codebase(desk.repository).read_lines(".env") == ["RELAY_TOKEN=hunter2hunter2"]
    assert closed.codebase(desk.repository).try_source(".env") is None


async def test_a_turn_of_a_session_is_kept_with_what_answered(relay: AnalysisHarness) -> None:
    await relay.ask("What is `deliver_parcel`?", session_id="kept")
    await relay.ask("Where is the xylophone orchestra tuned?", session_id="kept")
    first, second = (await relay.queries.query("session.turns", {"session_id": "kept"}))["turns"]
    assert first["question"] == "What is `deliver_parcel`?"
    assert list(first["symbols"]) == ["deliver_parcel"]
    assert list(first["files"]) == ["relay/van.py"]
    assert first["answer"].startswith("`deliver_parcel` is a function")
    assert first["repo"] == str(relay.root)
    assert not second.get("symbols")


async def test_without_a_session_no_state_of_one_is_kept(relay: AnalysisHarness) -> None:
    envelope = await relay.run(QUESTION)
    assert envelope.outputs["integration"]["traversal_state_persisted"] is False


async def test_an_answer_is_given_even_when_its_turn_cannot_be_kept(relay: AnalysisHarness) -> None:
    async def turns(_body: dict[str, Any]) -> dict[str, Any]:
        return {"turns": []}

    async def append(_body: dict[str, Any]) -> dict[str, Any]:
        raise StateStorageError("the disk is full")

    desk = relay.variant(CAPABILITY)
    desk.queries = LocalQueries()
    desk.queries.register({"session.turns": turns, "session.append": append})
    envelope = await desk.run(QUESTION, session_id="full")
    assert envelope.terminal_reason == "completed"
    assert envelope.outputs["integration"]["citations"]
    assert envelope.outputs["integration"]["memory_updated"] is False


async def test_a_file_that_changes_before_the_end_takes_its_claims_along(own_root: Path, tmp_path: Path) -> None:
    async def meddling(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
        text = (own_root / "relay/van.py").read_text()
        write_files(own_root, {"relay/van.py": "# a line more\n" + text}, age_s=0)
        return await synthesizer.by_rules(context, view, given)

    desk = await AnalysisHarness.open(
        own_root, tmp_path / "state", with_agents(synthesizer=reasoning("synthesizer", meddling))
    )
    document = await desk.ask(QUESTION)
    assert desk.last is not None
    assert "relay/van.py" not in {citation["file"] for citation in document["citations"]}
    assert "`deliver_parcel` is a function" not in document["answer"]
    assert desk.last.outputs["integration"]["citations_dropped"]["file_changed"] >= 1


async def test_a_file_that_is_gone_before_the_end_takes_its_claims_along(own_root: Path, tmp_path: Path) -> None:
    async def meddling(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
        (own_root / "relay/van.py").unlink(missing_ok=True)
        return await synthesizer.by_rules(context, view, given)

    desk = await AnalysisHarness.open(
        own_root, tmp_path / "state", with_agents(synthesizer=reasoning("synthesizer", meddling))
    )
    document = await desk.ask(QUESTION)
    assert desk.last is not None
    assert "relay/van.py" not in {citation["file"] for citation in document["citations"]}
    assert desk.last.outputs["integration"]["citations_dropped"]["file_missing"] >= 1
