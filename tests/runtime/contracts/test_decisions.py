"""What a submission does: refused with all that is wrong and nothing changed, or led on; and every loop ends."""

from __future__ import annotations

from functools import lru_cache

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.contracts.answers import MAX_RETOLD_CHARS, standing
from runtime.contracts.contract import END, ESCALATION
from runtime.contracts.decisions import submitted
from runtime.contracts.exploring_duties import confidence_of, risk_of
from runtime.contracts.observations import CheckResult, Observed
from runtime.contracts.session_state import Rule, SessionState, ToolUse
from tests.runtime.contracts.session_player import CHANGED, CONTRACT, PAYLOADS, TASKS, TOOLS, Player

PHASES = [*PAYLOADS, "READY_IMPLEMENTATION"]
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


def in_phase(phase: str) -> Player:
    player = Player()
    player.state = state_in(phase)
    return player


@lru_cache
def state_in(phase: str) -> SessionState:
    player = Player(stale_branches=("llm_task_old",), gate_level="full")
    if phase == "VERIFY_INTERVENTION":
        for _ in range(3):
            player.fail("t1")
            if player.state.phase == "READY_PLANNING":
                player.replan()
    return player.go_to(phase).state


@pytest.mark.parametrize("phase", PHASES)
@given(payload=JUNK, count=JUNK)
def test_nothing_that_is_submitted_raises_and_junk_changes_nothing(phase: str, payload: object, count: object) -> None:
    player = in_phase(phase)
    before = player.state
    decided = submitted(CONTRACT, before, payload, count, Observed(), 5)
    assert decided.code == "payload_mismatch"
    assert decided.problems
    assert decided.state.with_(compaction_count=0) == before.with_(compaction_count=0)


@pytest.mark.parametrize("phase", PHASES)
def test_each_field_that_is_demanded_is_missed(phase: str) -> None:
    player = in_phase(phase)
    rule = CONTRACT.phases[phase]
    for field, of_field in rule.expected_payload.items():
        if of_field.required:
            short = {name: value for name, value in player.payload().items() if name != field}
            decided = player.submit(short)
            assert any(problem.startswith(f"{field}: missing") for problem in decided.problems), field
            assert player.state.phase == phase


@pytest.mark.parametrize("phase", PHASES)
def test_a_payload_of_another_phase_is_answered_with_what_this_one_expects(phase: str) -> None:
    player = in_phase(phase)
    for other in PHASES:
        is_alike = other in PAYLOADS and PAYLOADS[other].keys() == player.payload().keys()
        if not is_alike and other not in {phase, "READY_IMPLEMENTATION", "READY_PLANNING"}:
            assert player.submit(PAYLOADS[other]).code == "payload_mismatch"
            assert player.state.phase == phase


@pytest.mark.parametrize("phase", TOOLS)
def test_a_tool_that_is_demanded_must_be_in_the_servers_log_whatever_is_claimed(phase: str) -> None:
    player = in_phase(phase)
    # `in_phase` used the phase's tools in earlier visits at most.
    decided = player.submit(tools=())
    assert any(problem.startswith("tools: ") for problem in decided.problems)
    assert player.submit().code == ""


def test_a_claim_of_a_tool_that_was_never_called_is_refused() -> None:
    player = Player().go_to("QUERY_FRAME")
    decided = player.submit(tools_used=["trace_entry_point"])
    assert decided.problems == ("tools_used: 'trace_entry_point' is claimed, but was never called in this session",)


def test_a_call_that_was_refused_or_found_nothing_is_told_and_counts_for_nothing() -> None:
    player = in_phase("IMPACT_ANALYSIS")
    vain = ToolUse("analyze_impact", player.state.visit, "impact", ("no_such_symbol",), refused=True)
    player.state = player.state.with_use(vain)
    decided = player.submit(tools=(), tools_used=["analyze_impact"])
    (problem,) = (each for each in decided.problems if each.startswith("tools"))
    assert problem.startswith("tools: analyze_impact must be called in this phase; this server saw 0")
    assert problem.endswith("; 1 more counted for nothing, as their answers say")
    assert player.submit(tools_used=["analyze_impact"]).code == ""


def test_two_tools_of_one_kind_are_not_two_kinds() -> None:
    player = Player().go_to("EXPLORATION")
    decided = player.submit(tools=("find_references", "explore_symbol_usage"), tools_used=["find_references"])
    assert "this server saw 1" in decided.problems[0]


def test_files_that_no_tool_showed_are_not_explored() -> None:
    player = Player().go_to("EXPLORATION")
    decided = player.submit(explored_files=["load.py", "secret.py"])
    assert decided.problems == ("explored_files: no tool of this session showed 'secret.py'",)


@pytest.mark.parametrize(
    ("explored", "symbols", "tools", "confidence"),
    [
        (["load.py"], [], ("search_text", "search_files"), 0.25),
        (["load.py", "net.py", "cache.py"], [], ("search_text", "search_files"), 0.5),
        (["load.py", "net.py"], ["load"], ("search_text", "search_files"), 0.5),
        (["load.py", "net.py", "cache.py"], ["load"], ("find_definitions", "find_references"), 1.0),
    ],
)
def test_the_servers_confidence_decides_whether_a_no_is_believed(
    explored: list[str], symbols: list[str], tools: tuple[str, ...], confidence: float
) -> None:
    player = Player().go_to("QUERY_FRAME")
    player.submit(target_symbols=[{"value": name, "quote": name} for name in symbols])
    player.submit(explored_files=explored, tools=tools, tools_used=list(tools))
    assert confidence_of(CONTRACT, player.state) == confidence
    player.submit()
    assert player.state.phase == ("Q2" if confidence >= 0.5 else "SEMANTIC")


@pytest.mark.parametrize(
    ("query", "risk"),
    [
        ("Let reset_password of load retry", "password"),
        ("Let load retry when the PasswordForm fails", "Password"),
        ("Migrate load to retries", "Migrate"),
        ("Let load retry for the author of a passage", ""),
    ],
)
@pytest.mark.parametrize(
    ("explored", "tools", "confidence", "risky"),
    [
        (["load.py", "net.py", "cache.py"], ("find_definitions", "find_references"), 1.0, 0.5),
        (["load.py", "net.py", "cache.py"], ("find_definitions", "search_text", "search_files"), 0.75, 0.5),
    ],
)
def test_a_query_of_high_risk_asks_for_more(
    query: str, risk: str, explored: list[str], tools: tuple[str, ...], confidence: float, risky: float
) -> None:
    player = Player()
    player.state = player.state.with_(query=query)
    player.go_to("DOCUMENT_RESEARCH").submit()
    quoted = {"value": "load", "quote": "load"}
    player.submit(action_type=quoted, target_symbols=[quoted])
    player.submit(explored_files=explored, tools=tools, tools_used=list(tools))
    assert risk_of(CONTRACT, query) == risk
    assert confidence_of(CONTRACT, player.state) == (risky if risk else confidence)
    decided = player.submit()
    assert player.state.phase == ("SEMANTIC" if risk else "Q2")
    assert (f"0.75 is asked for where the query speaks of '{risk}'" in str(decided.notes)) is bool(risk)


def test_slots_whose_words_are_not_in_the_query_are_dropped_and_told() -> None:
    player = Player().go_to("QUERY_FRAME")
    decided = player.submit(
        scope={"value": "network", "quote": "the  NETWORK fails"},
        constraints={"value": "no new dependency", "quote": "without new dependencies"},
        target_symbols=[{"value": "load", "quote": "loa"}],
    )
    assert player.state.frame is not None
    assert sorted(player.state.frame.slots) == ["action_type", "scope"]
    assert player.state.frame.symbols == ()
    assert len(decided.notes) == 2


@pytest.mark.parametrize(("similarity", "kept"), [(0.35, True), (0.16, True), (0.15, True), (0.14, False)])
def test_symbols_that_have_nothing_to_do_with_the_query_are_rejected(similarity: float, kept: bool) -> None:
    player = Player().go_to("QUERY_FRAME")
    player.submit(observed=Observed(similarities={"load": similarity}))
    assert player.state.frame is not None
    assert (player.state.frame.symbols == ("load",)) is kept


def test_a_false_hypothesis_must_be_withdrawn_or_replaced() -> None:
    player = in_phase("VERIFICATION")
    false = {"hypothesis": "it is cached", "confirmed": False, "evidence": "cache.py:3"}
    assert player.submit(hypotheses_verified=[false]).problems
    assert not player.submit(hypotheses_verified=[{**false, "replaced_by": "it is not cached"}]).code


def test_every_file_that_must_be_verified_has_to_be_accounted_for() -> None:
    player = in_phase("IMPACT_ANALYSIS")
    player.state = player.state.with_(must_verify=("load.py", "net.py"))
    assert player.submit().problems == ("impact_summary: says nothing of net.py, which must be verified",)


def test_tasks_are_reported_in_the_order_in_which_they_were_registered() -> None:
    player = Player().go_to("READY_IMPLEMENTATION")
    assert player.submit(task_id="t2").problems == ("task_id: 't2' is not the next one; report on 't1'",)
    player.submit()
    assert player.submit(task_id="t1").problems == ("task_id: 't1' is completed already; report on 't2'",)


def item(**changes: str) -> dict[str, str]:
    return {"item": "retry loop in load.py", "status": "done", "evidence": "load.py:3", **changes}


@pytest.mark.parametrize(
    ("checklist", "problem"),
    [
        ([item(item="something else")], "'retry loop in load.py' is not reported"),
        ([item(), item()], "is reported 2 times"),
        ([item(), item(item="more")], "'more' is no item of 't1'"),
        ([item(status="pending")], "still pending"),
        ([item(evidence=" ")], "evidence: missing"),
        ([item(status="skipped", reason="too short")], "9 characters, at least 10 expected"),
        ([item(status="skipped", reason="." * 10)], "it has no letter or digit; say why the item is left out"),
    ],
)
def test_a_report_must_account_for_each_item_as_it_was_registered(checklist: list[object], problem: str) -> None:
    player = Player().go_to("READY_IMPLEMENTATION")
    decided = player.submit(checklist=checklist)
    assert any(problem in said for said in decided.problems), decided.problems
    assert player.state.open_tasks[0].id == "t1"


def test_a_reason_of_ten_characters_is_enough_to_skip_an_item() -> None:
    player = Player().go_to("READY_IMPLEMENTATION")
    assert not player.submit(checklist=[item(status="skipped", reason="not needed")]).code


def test_evidence_that_does_not_hold_is_refused_with_the_reason() -> None:
    player = Player().go_to("READY_IMPLEMENTATION")
    refuted = Observed(refuted={"retry loop in load.py": "load.py has 2 lines"})
    assert player.submit(observed=refuted).problems == ("checklist[0].evidence: load.py has 2 lines",)


def test_the_same_task_list_sent_again_changes_nothing() -> None:
    player = Player().go_to("READY_IMPLEMENTATION")
    before = player.state
    assert not player.submit(PAYLOADS["READY_PLANNING"], tools=()).code
    assert player.state == before


@pytest.mark.parametrize(
    ("tasks", "problem"),
    [
        ([TASKS[0], TASKS[0]], "'t1' stands 2 times"),
        ([{**TASKS[0], "status": "completed"}], "was never reported and accepted"),
        ([{**TASKS[0], "fixes": "t9", "revert_reason": "it fails"}], "no task is registered as 't9'"),
        ([{**TASKS[0], "checklist": [{"item": "aa", "status": "done"}]}], "the items of a pending task are pending"),
        ([{**TASKS[0], "checklist": [{"item": "aa", "status": "pending"}] * 2}], "'aa' stands 2 times"),
    ],
)
def test_a_task_list_that_is_not_sound_is_refused(tasks: list[object], problem: str) -> None:
    player = Player().go_to("READY_PLANNING")
    assert any(problem in said for said in player.submit(tasks=tasks).problems)


def test_a_revert_demands_the_complete_list_and_a_task_that_fixes_something() -> None:
    player = Player()
    player.fail("t1")
    assert player.state.phase == "READY_PLANNING"
    missing = player.submit(tasks=[TASKS[0]])
    assert any("'t2' is missing" in problem for problem in missing.problems)
    assert player.replan().code == ""
    fix = player.state.task("t3")
    assert fix is not None
    assert (fix.failure_count, fix.fixes) == (1, "t1")


def test_a_failed_verification_that_names_no_task_counts_against_all() -> None:
    player = Player()
    player.fail()
    assert [task.failure_count for task in player.state.tasks] == [1, 1]


def test_verification_loops_end_with_an_intervention_and_then_with_a_person() -> None:
    player = Player()
    visited = []
    while player.state.phase != ESCALATION:
        player.fail("t1")
        visited.append(player.state.phase)
        if player.state.phase == "VERIFY_INTERVENTION":
            player.submit()
        if player.state.phase == "READY_PLANNING":
            assert player.replan().code == ""
    assert visited == ["READY_PLANNING", "READY_PLANNING", "VERIFY_INTERVENTION"] * 2
    assert player.state.interventions == 2
    assert player.submit(PAYLOADS["READY_PLANNING"]).code == "waits_for_person"
    player.answer("mock the clock")
    assert player.state.phase == "READY_PLANNING"
    assert "mock the clock" in player.state.revert_reason


def test_a_person_may_end_the_session() -> None:
    player = Player(flags=("no_intervention",))
    for _ in range(3):
        player.fail("t1")
        if player.state.phase == "READY_PLANNING":
            player.replan()
    player.answer("", goes_on=False)
    assert (player.state.phase, player.state.outcome) == (END, "ended_by_person")
    assert player.submit({}).code == "session_over"


def test_the_third_revert_by_quality_review_is_merged_with_a_warning() -> None:
    player = Player()
    for number in (1, 2, 3):
        player.go_to("QUALITY_REVIEW")
        player.submit(issues=["a name is poor"])
        assert player.state.quality_reverts == number
        if number < 3:
            assert player.state.phase == "READY_PLANNING"
            player.replan()
    assert player.state.phase == "MERGE"
    assert player.state.warnings[0].startswith("forced_completion: ")
    assert "a name is poor" in player.state.warnings[0]


@pytest.mark.parametrize("phase", ["POST_IMPL_VERIFY", "QUALITY_REVIEW"])
def test_a_good_verdict_beside_a_failing_check_is_refused_with_its_output(phase: str) -> None:
    player = Player().go_to(phase)
    red = Observed(checks=(CheckResult("tests", False, "1 failed"),))
    decided = player.submit(observed=red)
    assert decided.problems == ("check 'tests' fails, so this cannot have passed: 1 failed",)
    bad = {"passed": False} if phase == "POST_IMPL_VERIFY" else {"issues": ["tests are red"]}
    assert not player.submit(observed=red, **bad).code


def test_without_checks_the_verdict_is_said_to_be_the_agents_own() -> None:
    player = Player().go_to("POST_IMPL_VERIFY")
    assert "the agent's own" in player.submit().notes[0]


def test_a_commit_needs_every_changed_file_reviewed_and_permitted() -> None:
    player = Player().go_to("PRE_COMMIT")
    seen = Observed(changed=("load.py", "net.py"), unpermitted={"net.py": "was never explored"})
    assert player.submit(observed=seen).problems == (
        "reviewed_files: net.py was changed and not reviewed",
        "files: net.py was changed, but was never explored",
    )
    (problem,) = player.submit(observed=Observed()).problems
    assert problem.startswith(
        "files: nothing was changed, so there is nothing to commit; if the request needs no change"
    )
    assert "jeeves runs cancel" in problem
    assert [effect.kind for effect in player.submit(observed=CHANGED).effects] == ["commit"]


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("x" * 73, "in at most 72 characters; this one has 73"),
        ("\x1b[31mRetry in load", "U+001B"),
        ("Retry in load\rSigned-off-by: Somebody", "U+000D"),
        ("Retry \u202ein load", "U+202E"),
        ("Retry\0 in load", "U+0000"),
    ],
)
def test_a_message_whose_first_line_is_long_or_that_hides_what_it_says_is_refused(message: str, why: str) -> None:
    player = Player().go_to("PRE_COMMIT")
    (problem,) = player.submit(observed=CHANGED, commit_message=message).problems
    assert problem.startswith("commit_message: ")
    assert why in problem


def test_a_message_of_several_lines_is_committed_with_plain_line_ends() -> None:
    player = Player().go_to("PRE_COMMIT")
    (effect,) = player.submit(observed=CHANGED, commit_message=f"{'x' * 72}\r\n\r\n\tWhy: \u2026\r\n").effects
    assert effect.message == f"{'x' * 72}\n\n\tWhy: \u2026"


@pytest.mark.parametrize("count", [1, 7])
def test_a_count_of_compactions_that_differs_recalls_the_summaries_and_is_taken_over(count: int) -> None:
    player = Player().go_to("EXPLORATION")
    decided = player.submit(count=count)
    assert (decided.is_recalled, player.state.compaction_count, player.state.phase) == (True, count, "Q1")
    assert player.submit(count=0).is_recalled
    assert list(player.state.summaries) == [
        "step_03_DOCUMENT_RESEARCH",
        "step_04_QUERY_FRAME",
        "step_05_EXPLORATION",
        "step_06_Q1",
    ]


@given(st.lists(st.sampled_from(["good", "fail", "issues", "junk", "yes"]), max_size=60))
def test_no_agent_can_go_round_for_ever(moves: list[str]) -> None:
    player = Player()
    for move in moves:
        if player.state.is_over or player.state.waits_for_person:
            break
        if player.state.phase == "READY_PLANNING" and player.state.tasks:
            player.replan()
        elif move == "junk":
            player.submit({"x": 1})
        elif move == "fail" and player.state.phase == "POST_IMPL_VERIFY":
            player.fail("t1")
        elif move == "issues" and player.state.phase == "QUALITY_REVIEW":
            player.submit(issues=["poor names"])
        else:
            player.submit()
    assert player.state.interventions <= CONTRACT.limits.interventions
    assert player.state.quality_reverts <= CONTRACT.limits.quality_reverts
    assert max((task.failure_count for task in player.state.tasks), default=0) <= CONTRACT.limits.task_failures


def test_a_state_survives_being_written_and_read() -> None:
    player = Player().go_to("QUALITY_REVIEW")
    data = msgspec.msgpack.encode(player.state)
    assert msgspec.msgpack.decode(data, type=type(player.state)) == player.state


@pytest.mark.parametrize("length", [MAX_RETOLD_CHARS, MAX_RETOLD_CHARS + 1, 20_000])
def test_what_failed_is_told_again_in_short_before_the_whole_instruction(length: int) -> None:
    details = "begin" + "x" * (length - 8) + "end"
    player = in_phase("POST_IMPL_VERIFY")
    player.submit(passed=False, failed_tasks=["t1"], details=details)
    told = standing(CONTRACT, player.state)["instruction"]
    rest = CONTRACT.phases["READY_PLANNING"].instruction
    assert told.startswith("Sent back because begin")
    assert told.endswith(f"end\n\n{rest}")
    assert len(told) <= MAX_RETOLD_CHARS + len(rest) + 30
    assert (" … " in told) is (length > MAX_RETOLD_CHARS)


def test_what_is_dropped_from_a_frame_is_told_in_short() -> None:
    player = Player().go_to("QUERY_FRAME")
    symbols = [{"value": f"{number}{'x' * 4_000}", "quote": "not there"} for number in range(50)]
    symbols += [{"value": f"x{number}", "quote": "not there"} for number in range(50)]
    decided = player.submit(target_symbols=symbols)
    assert len(decided.notes) == 21
    assert decided.notes[-1] == "dropped from the frame: and 80 more"
    assert max(map(len, decided.notes)) < 200


@pytest.mark.parametrize(("chars", "is_short"), [(199, True), (200, True), (201, False)])
def test_a_target_symbol_has_the_length_of_a_name(chars: int, is_short: bool) -> None:
    player = Player().go_to("QUERY_FRAME")
    decided = player.submit(target_symbols=[{"value": "x" * chars, "quote": "load"}])
    assert ("dropped" not in str(decided.notes)) == is_short


@pytest.mark.parametrize(("field", "most"), [("id", 64), ("description", 2_000), ("item", 500)])
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_what_is_told_again_of_tasks_has_a_greatest_length(field: str, most: int, more: int) -> None:
    text = "x" * (most + more)
    task = {
        "id": "t1",
        "description": "a task",
        "status": "pending",
        "checklist": [{"item": "an item", "status": "pending"}],
    }
    task |= {"checklist": [{"item": text, "status": "pending"}]} if field == "item" else {field: text}
    problems = Player().go_to("READY_PLANNING").submit(tasks=[task]).problems
    assert (f"{most + more} characters, at most {most} expected" in "".join(problems)) == (more > 0)


@pytest.mark.parametrize("other", ["A", "a ", " a", "a\u200b", "\uff41"])
def test_ids_of_tasks_that_look_alike_are_refused(other: str) -> None:
    rest = {"description": "a task", "status": "pending", "checklist": [{"item": "an item", "status": "pending"}]}
    problems = Player().go_to("READY_PLANNING").submit(tasks=[{"id": "a", **rest}, {"id": other, **rest}]).problems
    assert "look alike" in problems[0]


def test_what_failed_is_told_in_short_where_it_leads_back() -> None:
    player = Player().go_to("POST_IMPL_VERIFY")
    decided = player.submit(passed=False, details="long " * 4_000)
    assert len(standing(CONTRACT, decided.state)["instruction"]) < 5_000


@pytest.mark.parametrize("phase", PHASES)
def test_the_rules_that_bind_are_told_where_they_are_planned_for_and_reviewed(phase: str) -> None:
    state = state_in(phase).with_(rules=(Rule("retry at most three times", "docs/rules.md"),))
    told = standing(CONTRACT, state).get("mandatory_rules")
    rules = [{"rule": "retry at most three times", "source": "docs/rules.md"}]
    assert told == (rules if phase in {"READY_PLANNING", "QUALITY_REVIEW"} else None)
