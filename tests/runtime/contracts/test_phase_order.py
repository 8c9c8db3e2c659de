"""Which phases a session passes through: each column of the phase matrix, gates, and where it ends."""

from __future__ import annotations

from pathlib import Path

import pytest

import configs
from runtime.contracts.contract import END, ESCALATION
from runtime.contracts.loading import parse_contract
from runtime.contracts.phase_order import columns, long_flags, problems_of_start, without_gate
from tests.runtime.contracts.session_player import CONTRACT, Player
from tests.runtime.contracts.test_loading import SHIPPED

READY = ["READY_PLANNING", "READY_IMPLEMENTATION", "READY_COMPLETION"]
QUESTIONS = ["Q1", "Q2", "Q3"]
EXPLORED = ["EXPLORATION", *QUESTIONS]
BEFORE = ["DOCUMENT_RESEARCH", "QUERY_FRAME"]
AFTER = ["POST_IMPL_VERIFY", "PRE_COMMIT", "QUALITY_REVIEW", "MERGE"]
WHOLE = [*BEFORE, *EXPLORED, *READY, *AFTER]


def without(*left_out: str) -> list[str]:
    return [name for name in WHOLE if name not in left_out]


PATHS = {
    (): WHOLE,
    ("no_verify",): without("POST_IMPL_VERIFY"),
    ("no_quality",): without("QUALITY_REVIEW"),
    ("only_verify",): ["POST_IMPL_VERIFY"],
    ("only_explore",): [*BEFORE, *EXPLORED],
    ("fast",): without(*EXPLORED, "QUALITY_REVIEW"),
    ("quick",): without(*EXPLORED, "PRE_COMMIT", "QUALITY_REVIEW", "MERGE"),
    ("no_doc_research",): without("DOCUMENT_RESEARCH"),
    ("no_intervention",): WHOLE,
    ("resume",): WHOLE,
    ("clean",): WHOLE,
    ("rebuild",): WHOLE,
    ("fast", "no_verify", "no_doc_research"): ["QUERY_FRAME", *READY, "PRE_COMMIT", "MERGE"],
    ("quick", "no_verify"): [*BEFORE, *READY],
}


@pytest.mark.parametrize("flags", PATHS, ids=" ".join)
def test_a_session_passes_through_the_phases_that_its_flags_leave(flags: tuple[str, ...]) -> None:
    # Tools show the lines that `fast` and `quick` did not explore.
    assert Player(flags=flags).path() == [*PATHS[flags], END]


def test_every_flag_of_the_contract_has_its_column_in_the_test() -> None:
    assert {flag for flags in PATHS for flag in flags} == set(CONTRACT.flags)


@pytest.mark.parametrize("intent", ["INVESTIGATE", "QUESTION"])
def test_an_investigation_ends_after_exploration(intent: str) -> None:
    assert Player(intent).path() == [*BEFORE, *EXPLORED, END]


@pytest.mark.parametrize("intent", ["IMPLEMENT", "MODIFY"])
def test_a_change_passes_through_all_phases(intent: str) -> None:
    assert Player(intent).path() == [*WHOLE, END]


def test_the_intervention_alone_is_left_out_by_no_intervention() -> None:
    with_it, without_it = columns(CONTRACT, "MODIFY"), columns(CONTRACT, "MODIFY", ("no_intervention",))
    assert [name for name in with_it if with_it[name] != without_it[name]] == ["VERIFY_INTERVENTION"]


def test_a_full_gate_takes_every_question_for_yes() -> None:
    visited = Player(gate_level="full").path()
    assert [name for name in visited if name in CONTRACT.order[4:10]] == [
        "Q1",
        "SEMANTIC",
        "Q2",
        "VERIFICATION",
        "Q3",
        "IMPACT_ANALYSIS",
    ]


@pytest.mark.parametrize(
    ("phase", "field", "target"),
    [
        ("Q1", "needs_more_information", "SEMANTIC"),
        ("Q2", "has_unverified_hypotheses", "VERIFICATION"),
        ("Q3", "needs_impact_analysis", "IMPACT_ANALYSIS"),
    ],
)
def test_a_yes_to_a_question_leads_to_what_it_asks_for(phase: str, field: str, target: str) -> None:
    player = Player().go_to(phase)
    player.submit({**player.payload(), field: True})
    assert player.state.phase == target


def test_stale_branches_come_first_and_only_where_there_are_any() -> None:
    player = Player(stale_branches=("llm_task_old",))
    assert player.state.phase == "BRANCH_INTERVENTION"
    player.submit()
    assert player.state.phase == "DOCUMENT_RESEARCH"


def test_only_verify_ends_after_a_failure_too_and_lists_what_failed() -> None:
    player = Player(flags=("only_verify",))
    player.submit(passed=False, details="two tests are red")
    assert (player.state.phase, player.state.outcome) == (END, "verification_failed")


def test_the_outcome_of_a_verification_alone_hangs_on_what_its_flag_does_not_on_its_name() -> None:
    contract = parse_contract(SHIPPED.replace("only_verify", "check_alone"))
    player = Player(flags=("check_alone",), contract=contract)
    player.submit(passed=False, details="two tests are red")
    assert (player.state.phase, player.state.outcome) == (END, "verification_failed")


@pytest.mark.parametrize("flags", [("no_intervention",), ("quick",)])
def test_without_an_intervention_the_third_failure_asks_a_person(flags: tuple[str, ...]) -> None:
    player = Player(flags=flags)
    for expected in ("READY_PLANNING", "READY_PLANNING", ESCALATION):
        player.fail("t1")
        assert player.state.phase == expected
        if expected != ESCALATION:
            assert not player.replan().code


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        (("only_explore", "fast"), "only_explore contradicts fast"),
        (("only_explore", "quick"), "only_explore contradicts quick"),
        (("only_verify", "no_verify"), "only_verify contradicts no_verify"),
        (("no_verify", "only_verify"), "no_verify contradicts only_verify"),
        (("resume", "clean"), "clean contradicts resume"),
        (("slow",), "no flag is named 'slow'"),
    ],
)
def test_flags_that_contradict_each_other_or_do_not_exist_are_refused(flags: tuple[str, ...], problem: str) -> None:
    (said,) = problems_of_start(CONTRACT, "MODIFY", flags, "auto")
    assert problem in said


def test_an_unknown_intent_and_gate_are_refused_together() -> None:
    said = problems_of_start(CONTRACT, "GUESS", (), "open")
    assert [text.partition(":")[0] for text in said] == ["intent", "gate_level"]


def test_flags_are_understood_in_all_their_spellings() -> None:
    given = ["-f", "--no-quality", "no_quality", "-ni", "no-doc-research"]
    assert long_flags(CONTRACT, given) == ("fast", "no_quality", "no_intervention", "no_doc_research")


@pytest.mark.parametrize(
    ("short", "name"),
    [
        ("-v", "only_verify"),
        ("-e", "only_explore"),
        ("-f", "fast"),
        ("-q", "quick"),
        ("-ni", "no_intervention"),
        ("-r", "resume"),
        ("-c", "clean"),
    ],
)
def test_each_short_form_stands_for_its_flag(short: str, name: str) -> None:
    assert long_flags(CONTRACT, [short]) == long_flags(CONTRACT, [f"--{name.replace('_', '-')}"]) == (name,)
    assert {rule.short for rule in CONTRACT.flags.values()} == {"", "-v", "-e", "-f", "-q", "-ni", "-r", "-c"}


@pytest.mark.parametrize(
    ("given", "kept", "level"),
    [
        ([], (), ""),
        (["-f"], ("-f",), ""),
        (["--gate=full", "-f"], ("-f",), "full"),
        (["-g=f"], (), "full"),
        (["-g=a"], (), "auto"),
        (["-q", "-g", "FULL"], ("-q",), "full"),
        (["gate=auto"], (), "auto"),
        (["-g=none"], (), "none"),
        (["-g"], (), "-g"),
    ],
)
def test_the_gate_level_is_understood_among_the_flags(given: list[str], kept: tuple[str, ...], level: str) -> None:
    assert without_gate(CONTRACT, given) == (kept, level)


def test_the_command_for_clients_names_every_flag_with_its_short_form() -> None:
    text = (Path(str(configs.__path__[0])) / "contracts" / "commands" / "code.md").read_text(encoding="utf-8")
    for name, rule in CONTRACT.flags.items():
        flag = f"`--{name.replace('_', '-')}`"
        assert (f"{flag} (`{rule.short}`)" if rule.short else flag) in text
