"""The fact store: what supersedes what, compaction, and that nothing is lost from the record."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.context.actions import ActionResult
from runtime.context.fact_extraction import extract_facts
from runtime.context.fact_rules import ToolOutput
from runtime.context.fact_store import KEPT_ACTIVE, MAX_ACTIVE, FactStore, value_of
from runtime.context.understanding import Fact, FactCategory

CHECK = "C901 src/app.py"


def fact(name: str, step: int = 0, **more: Any) -> Fact:
    usual = {"category": "verification", "statement": f"s {name}", "confidence": 1, "source": "run_check:complexity"}
    return Fact.model_validate({"id": name, "step": step, **usual, **more})


def ids(facts: Any) -> list[str]:
    return [each.id for each in facts]


def after(*outputs: ToolOutput) -> list[str]:
    """Return the statements that are active after these outputs."""
    store = FactStore()
    for output in outputs:
        store, _ = store.add(extract_facts(output).facts, output.step)
    return [each.statement for each in store.for_context()]


def check(step: int, text: str, scope: str = CHECK) -> ToolOutput:
    result = ActionResult.SUCCESS if "passed" in text else ActionResult.FAILURE
    return ToolOutput("run_check", text, result, step, scope)


def ran(step: int, text: str, scope: str = "") -> ToolOutput:
    result = ActionResult.FAILURE if "failed" in text else ActionResult.SUCCESS
    return ToolOutput("run_tests", text, result, step, scope)


def test_a_newer_measure_of_a_function_supersedes_the_older_one() -> None:
    first = check(1, "`load` is too complex (15 > 10)\n`save` is too complex (12 > 10)\n")
    then = check(2, "`load` is too complex (11 > 10)\n`save` is too complex (12 > 10)\n")
    assert after(first, then) == [
        "Function 'load' has complexity 11, allowed 10",
        "Function 'save' has complexity 12, allowed 10",
    ]


def test_a_check_that_passes_supersedes_all_that_it_found_before_and_no_other_check() -> None:
    other = check(1, "`load` is too complex (15 > 10)", scope="C901 src/other.py")
    assert after(
        other, check(1, "`load` is too complex (15 > 10)\nFound 1 error."), check(2, "All checks passed!")
    ) == [
        "Function 'load' has complexity 15, allowed 10",
        f"Check passed ({CHECK})",
    ]


def test_tests_that_pass_supersede_those_that_failed_with_their_names() -> None:
    failed = ran(1, "FAILED tests/t.py::test_a - KeyError: 1\n1 failed, 4 passed in 1s")
    assert len(after(failed)) == 3
    assert after(failed, ran(2, "5 passed in 1s")) == ["Tests passed: 5"]
    assert len(after(failed, ran(2, "5 passed in 1s", scope="tests/other.py"))) == 4


def test_facts_of_one_output_do_not_supersede_each_other() -> None:
    twice = check(1, "`run` is too complex (15 > 10)\n`run` is too complex (12 > 10)\n")
    assert len(after(twice)) == 2


def test_an_error_stays_so_that_it_is_not_repeated() -> None:
    refused = ToolOutput("edit_file", "old text not found", ActionResult.FAILURE, 1)
    assert len(after(refused, ToolOutput("edit_file", "Edited src/app.py", ActionResult.SUCCESS, 2))) == 2


def test_the_newer_structure_of_a_file_supersedes_the_older_one() -> None:
    reads = [
        ToolOutput("read_file", f"Read a.py\n{text}", ActionResult.SUCCESS, step)
        for step, text in enumerate(["def a(): pass\n", "def b(): pass\n"], 1)
    ]
    assert after(*reads) == ["Read a.py: 1 lines, defines b"]


@pytest.mark.parametrize(
    ("old", "new", "is_superseded"),
    [
        ("Function 'f' has complexity 15", "Function 'f' has complexity 9", True),
        ("Function 'f1' has complexity 15", "Function 'f2' has complexity 9", False),
        ("E501 at a.py:12", "E501 at a.py:13", False),
        ("Coverage is 81.5 (of 90)", "Coverage is 99 (of 90)", True),
    ],
)
def test_a_verification_without_a_kind_is_about_what_it_states_but_for_its_numbers(
    old: str, new: str, is_superseded: bool
) -> None:
    store, _ = FactStore().add([fact("f1", 1, statement=old)], 1)
    store, change = store.add([fact("f2", 2, statement=new)], 2)
    assert ids(change.superseded) == (["f1"] if is_superseded else [])
    assert change.added[0].supersedes == ("f1" if is_superseded else None)


def test_an_older_fact_that_arrives_late_supersedes_nothing() -> None:
    store, _ = FactStore().add([fact("f2", 2, kind="k", subject="f")], 2)
    store, change = store.add([fact("f1", 1, kind="k", subject="f")], 2)
    assert change.superseded == ()


def test_one_fact_may_supersede_several_and_names_the_latest() -> None:
    store, _ = FactStore().add([fact(name, 1, kind=f"check.{name}", scope="s") for name in ("a", "b")], 1)
    store, change = store.add([fact("c", 2, kind="check.passed", scope="s")], 2)
    assert ids(change.superseded) == ["a", "b"]
    assert change.added[0].supersedes == "b"
    assert ids(store.understanding.active) == ["c"]
    assert store.understanding.superseded_ids == ("a", "b")


@pytest.mark.parametrize(("count", "active"), [(19, 19), (20, 20), (21, KEPT_ACTIVE)])
def test_above_twenty_active_facts_the_best_fifteen_stay(count: int, active: int) -> None:
    store, change = FactStore().add([fact(f"f{n}", n, category="pattern") for n in range(count)], count)
    assert len(store.understanding.active) == active
    assert ids(change.compacted) == [f"f{n}" for n in range(count - active)]
    assert len(store.understanding.facts) == count


def test_the_value_of_a_fact_is_its_confidence_category_and_age() -> None:
    assert value_of(fact("f", 5, confidence=0.7), 10) == pytest.approx(0.7 + 0.3 + 0.1)
    assert value_of(fact("f", 10, category="error", confidence=0.7), 10) == pytest.approx(0.7 + 0.2 + 0.2)
    assert value_of(fact("f", 0, category="pattern", confidence=0.7), 0) == pytest.approx(0.7)
    assert value_of(fact("f", 9, category="pattern", confidence=0.7), 3) == pytest.approx(0.9)


@pytest.mark.parametrize(("confidence", "is_shown"), [(0.59, False), (0.6, True), (0.61, True)])
def test_facts_enter_the_context_from_a_confidence_of_six_tenths(confidence: float, is_shown: bool) -> None:
    store, _ = FactStore().add([fact("f", confidence=confidence)], 1)
    assert bool(store.for_context()) == is_shown


def test_a_step_that_is_carried_out_again_changes_nothing() -> None:
    found = extract_facts(check(1, "`load` is too complex (15 > 10)")).facts
    store, _ = FactStore().add(found, 1)
    newer, _ = store.add(extract_facts(check(2, "All checks passed!")).facts, 2)
    again, change = newer.add(found, 2)
    assert again == newer
    assert change.added == ()


facts = st.builds(
    lambda name, step, category, confidence, kind, subject, scope: fact(
        f"f{name}", step, category=category, confidence=confidence, kind=kind, subject=subject, scope=scope
    ),
    st.integers(0, 200),
    st.integers(0, 40),
    st.sampled_from(list(FactCategory)),
    st.floats(0, 1),
    st.sampled_from(["", "plain", "check.passed", "check.complexity", "tests.failed"]),
    st.sampled_from(["", "load", "save"]),
    st.sampled_from(["", "all"]),
)


@given(st.lists(st.lists(facts, max_size=30), max_size=8), st.integers(1, 40))
def test_whatever_is_added_the_bounds_hold_and_every_fact_is_on_record(batches: list[list[Fact]], limit: int) -> None:
    store = FactStore(max_remembered=limit)
    recorded: dict[str, str] = {}
    for step, batch in enumerate(batches):
        before = store
        store, change = store.add(batch, step)
        active = ids(store.understanding.active)
        assert len(active) <= MAX_ACTIVE
        assert not change.compacted or len(active) == KEPT_ACTIVE
        assert len(store.understanding.facts) <= max(limit, MAX_ACTIVE)
        recorded.update({each.id: "active" for each in change.added})
        for kind in ("superseded", "compacted"):
            for each in getattr(change, kind):
                assert recorded[each.id] == "active"
                recorded[each.id] = kind
        assert sorted(active) == sorted(name for name, state in recorded.items() if state == "active")
        assert set(ids(change.dropped)) <= {name for name, state in recorded.items() if state != "active"}
        remembered = [*ids(store.understanding.facts), *ids(change.dropped)]
        assert remembered and len(remembered) == len(set(remembered)) if change.added else store == before
        assert type(store).model_validate_json(store.model_dump_json()) == store


@given(st.lists(facts, max_size=60), st.integers(0, 40))
def test_compaction_keeps_the_most_valuable_facts(batch: list[Fact], step: int) -> None:
    store, change = FactStore().add(batch, step)
    worst_kept = min((value_of(each, step) for each in store.understanding.active), default=0)
    assert all(value_of(each, step) <= worst_kept for each in change.compacted)
