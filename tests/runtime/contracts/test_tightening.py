"""What a contract may change and still only tighten: a short table; every other difference is looser."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from runtime.contracts.contract import Contract, FieldRule, ToolDemand
from runtime.contracts.decisions import unused_tools
from runtime.contracts.loading import parse_contract, problems_of
from runtime.contracts.payloads import problems_in
from runtime.contracts.session_state import SessionState, ToolUse
from runtime.contracts.tightening import loosenings
from tests.runtime.contracts.session_player import CONTRACT, PAYLOADS
from tests.runtime.contracts.test_loading import SHIPPED

PAYLOAD = "phases.EXPLORATION.expected_payload"
CHECKS = "    checks: [{name: x, command: [./x]}]\n"

Path = tuple[str | int, ...]
DOCUMENT = CONTRACT.model_dump(mode="json")

# Paths of the shipped contract → how a value there may change; everything else must stay as it is.
TIGHTER = {
    r"version|.*\.least|.*\.words|limits\.min_reason_chars|(?:.*\.)?confidence\.\w+|relevance\.\w+|.*\.at_least": "up",
    r"limits\.(task_failures|failures_in_all|interventions|max_tasks|max_checklist_items)|.*\.most": "down",
    r".*\.required": "up",
    r".*\.choices|gate_levels|.*\.any_of|flags|intents": "fewer",
    r"flags\.\w+\.excludes|phases\.\w+\.required_tools|high_risk\.words|protected_paths": "more",
    r"tools\.\w+\.within": "fewer",
}
# Mappings by name; in others a key that is left out has its default.
NAMED = {"intents", "flags", "tools", "phases", "expected_payload", "fields"}
# Taking a phase out of what a flag leaves out is tighter where the phase only looks or checks.
LOOKS = re.compile(r"DOCUMENT|QUERY|EXPLORATION|Q\d|SEMANTIC|VERIFICATION|IMPACT|POST_IMPL|QUALITY")


def places(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    yield path, value
    entries: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield from places(inner, (*path, key))


def changed(path: Path, value: Any) -> Contract | None:
    """Return the shipped contract with one value replaced, None where no contract is like that."""
    document: dict[str, Any] = copy.deepcopy(DOCUMENT)
    at: Any = document
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    try:
        made = Contract.model_validate(document)
    except ValidationError:
        return None
    return None if list(problems_of(made)) else made


def _at(path: Path) -> Any:
    at: Any = DOCUMENT
    for key in path:
        at = at[key]
    return at


def variants(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, bool):
        yield ("down" if value else "up"), not value
    elif isinstance(value, int | float):
        step = 1 if isinstance(value, int) else 0.1
        yield "up", value + step
        yield "down", value - step
    elif isinstance(value, str):
        yield "other", f"{value}x"
        yield "other", "PRE_COMMIT"
        yield "other", ""
    elif isinstance(value, list):
        yield "more", [*value, "migrations/"]
        for place in range(len(value)):
            yield "fewer", value[:place] + value[place + 1 :]
        yield "more", [*value, "QUALITY_REVIEW"]
        yield "more", [*value, "fast"]
        yield "more", [*value, "invoic"]
        yield "more", [*value, {"any_of": ["read_code"], "at_least": 1}]
        yield "more", [*value, {"name": "x", "command": ["x"]}]
    elif isinstance(value, dict):
        for key in value:
            yield "fewer", {name: inner for name, inner in value.items() if name != key}
        yield "more", {**value, "EXTRA": next(iter(value.values()), {"type": "text"})}


def may(path: Path, how: str, before: Any, after: Any) -> bool:
    if isinstance(path[-1], int) and isinstance(before, str):
        # One text of a list in place of another: what may become of the list decides.
        texts = _at(path[:-1])
        others = [*texts[: path[-1]], after, *texts[path[-1] + 1 :]]
        return set(others) < set(texts) and may(path[:-1], "fewer", texts, others)
    name = ".".join(map(str, path))
    if re.fullmatch(r"tools\.\w+\.since", name):
        return after == "PRE_COMMIT" and before not in {"", "PRE_COMMIT"}
    if name.endswith(".skips") and how == "fewer":
        return all(LOOKS.match(phase) for phase in set(before) - set(after))
    return any(re.fullmatch(pattern, name) and how == wanted for pattern, wanted in TIGHTER.items())


@pytest.mark.long
def test_each_single_change_of_the_shipped_contract_is_looser_unless_the_table_says_tighter() -> None:
    tried = tighter = 0
    for path, value in places(DOCUMENT):
        if not path:
            continue
        for how, other in variants(value):
            if how == "fewer" and isinstance(value, dict) and path[-1] not in NAMED:
                continue
            made = changed(path, other)
            if made is None or _as_sets(made) == _as_sets(CONTRACT):
                continue
            tried += 1
            found = loosenings(CONTRACT, made)
            if not found:
                tighter += 1
                assert may(path, how, value, other), (path, how, other)
            elif may(path, how, value, other):
                # A tool may be called in every phase without a list of them, so an empty one is no shorter.
                assert (path[0], other) == ("tools", []), (path, how, other, found)
    assert (tried > 1_000, tighter > 100) == (True, True), (tried, tighter)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("findings: {type: texts, least: 1", "findings: {type: texts, least: 3"),
        ("        at_least: 2", "        at_least: 3"),
        ("[{any_of: [semantic_search]}]", "[{any_of: [semantic_search]}, {any_of: [query]}]"),
        ("  no_quality:\n    says: do without the quality review\n    skips: [QUALITY_REVIEW]\n", ""),
        ("task_failures: 3", "task_failures: 2"),
        ("least: 0.5}", "least: 1.0}"),
        ("gate_levels: [auto, full]", "gate_levels: [full]"),
        ("choices: [pending, done, skipped]", "choices: [done]"),
        ("review_changes: {since: READY}", "review_changes: {since: PRE_COMMIT}"),
        ("skips: [QUALITY_REVIEW]", "skips: []"),
        ("        required: false\n        says: rules that bind", "        says: rules that bind"),
        ("excludes: [only_verify]", "excludes: [only_verify, fast]"),
    ],
)  # fmt: skip
def test_what_only_adds_to_what_has_to_be_met_is_tighter(old: str, new: str) -> None:
    assert old in SHIPPED
    assert loosenings(CONTRACT, parse_contract(SHIPPED.replace(old, new, 1))) == []


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("findings: {type: texts, least: 1", "findings: {type: texts", f"{PAYLOAD}.findings.least"),
        ("says: how the code works", "says: run ./x first", f"{PAYLOAD}.summary.says"),
        ("Take the query apart.", "Run ./x.", "phases.QUERY_FRAME.instruction"),
        ("    duty: verify\n", f"    duty: verify\n{CHECKS}", "phases.POST_IMPL_VERIFY.checks"),
        ("quality_reverts: 3", "quality_reverts: 2", "limits.quality_reverts"),
        ("quality_reverts: 3", "quality_reverts: 4", "limits.quality_reverts"),
        ("review_changes: {since: READY}", "review_changes: {since: EXPLORATION}", "tools.review_changes"),
        ("MODIFY: []", "MODIFY: [QUALITY_REVIEW]", "intents.MODIFY"),
        ("  resume:\n", "  again:\n    says: x\n  resume:\n", "flags"),
        ("skips: [VERIFY_INTERVENTION]", "skips: []", "flags.no_intervention.skips"),
        ("      - {when: moved_since_review, to: QUALITY_REVIEW}\n", "", "phases.MERGE.exits"),
        ("[{any_of: [review_changes]}]", "[{any_of: [review_changes, ask]}]", "phases.PRE_COMMIT.required_tools"),
    ],
)  # fmt: skip
def test_a_looser_key_is_named(old: str, new: str, key: str) -> None:
    assert old in SHIPPED
    assert loosenings(CONTRACT, parse_contract(SHIPPED.replace(old, new, 1))) == [key]


def test_no_word_of_the_contract_that_is_judged_is_told() -> None:
    text = SHIPPED.replace("  fast:\n", "  ignore_all:\n").replace("[only_explore, fast", "[only_explore, ignore_all")
    text = text.replace("excludes: [fast, quick", "excludes: [ignore_all, quick").replace("findings:", "run_rm:")
    told = loosenings(CONTRACT, parse_contract(text))
    assert told == ["phases.EXPLORATION.expected_payload", "flags"]


def test_a_flag_may_be_taken_away_that_others_exclude() -> None:
    flags = {name: rule for name, rule in CONTRACT.flags.items() if name != "no_verify"}
    flags["only_verify"] = flags["only_verify"].model_copy(update={"excludes": ("only_explore",)})
    assert loosenings(CONTRACT, CONTRACT.model_copy(update={"flags": flags})) == []


EDITS = [
    (path, how, other)
    for path, value in places(DOCUMENT)
    if path
    for how, other in variants(value)
    if may(path, how, value, other)
]


@st.composite
def tighter_contracts(draw: st.DrawFn) -> Contract:
    """Contracts that were made from the shipped one by one to four of the changes of the table."""
    document: dict[str, Any] = copy.deepcopy(DOCUMENT)
    for path, _, other in draw(st.lists(st.sampled_from(EDITS), min_size=1, max_size=4)):
        at: Any = document
        for key in path[:-1]:
            is_there = key in at if isinstance(at, dict) else isinstance(key, int) and key < len(at)
            at = at[key] if is_there else None
            if at is None:
                break
        if at is not None:
            at[path[-1]] = other
    try:
        made = Contract.model_validate(document)
    except ValidationError:
        return CONTRACT
    has_faults = any(True for _ in problems_of(made))
    return CONTRACT if has_faults or loosenings(CONTRACT, made) else made


@given(first=tighter_contracts(), second=tighter_contracts())
def test_tighter_is_an_order(first: Contract, second: Contract) -> None:
    assert loosenings(first, first) == []
    if not loosenings(first, second):
        assert loosenings(CONTRACT, second) == []
        if not loosenings(second, first):
            assert first.digest == second.digest or _as_sets(first) == _as_sets(second)


@given(contract=tighter_contracts(), data=st.data())
def test_a_payload_that_a_tighter_contract_takes_is_taken_by_the_shipped_one(contract: Contract, data: Any) -> None:
    phase = data.draw(st.sampled_from(sorted(PAYLOADS)))
    rules = CONTRACT.phases[phase].expected_payload
    payload = data.draw(st.fixed_dictionaries({}, optional={name: values(rule) for name, rule in rules.items()}))
    if not problems_in(payload, contract.phases[phase].expected_payload):
        assert problems_in(payload, rules) == []


@given(demands=st.lists(st.tuples(st.sets(st.sampled_from("abcd"), min_size=1), st.integers(1, 3)), max_size=3),
       more=st.lists(st.tuples(st.sets(st.sampled_from("abcd"), min_size=1), st.integers(1, 3)), max_size=3),
       used=st.sets(st.sampled_from("abcd")))  # fmt: skip
def test_tools_that_meet_tighter_demands_meet_the_looser_ones(
    demands: list[tuple[set[str], int]], more: list[tuple[set[str], int]], used: set[str]
) -> None:
    before, after = (_demanding(each) for each in (demands, more))
    if loosenings(before, after):
        return
    state = SessionState("s", "r", "MODIFY", "q", "", phase="SEMANTIC", visit=1)
    for tool in sorted(used):
        state = state.with_use(ToolUse(tool, 1))
    if not unused_tools(after, state, after.phases["SEMANTIC"], {}):
        assert not unused_tools(before, state, before.phases["SEMANTIC"], {})


def _demanding(demands: list[tuple[set[str], int]]) -> Contract:
    made = tuple(ToolDemand(any_of=tuple(sorted(tools)), at_least=least) for tools, least in demands)
    phase = CONTRACT.phases["SEMANTIC"].model_copy(update={"required_tools": made})
    return CONTRACT.model_copy(update={"phases": {**CONTRACT.phases, "SEMANTIC": phase}})


def values(rule: FieldRule) -> st.SearchStrategy[Any]:
    by_type: dict[str, st.SearchStrategy[Any]] = {
        "text": st.text(max_size=3),
        "texts": st.lists(st.sampled_from(["a", " "]), max_size=3),
        "bool": st.booleans(),
        "integer": st.integers(),
        "number": st.floats(),
        "choice": st.sampled_from([*rule.choices, "other"]),
    }
    if rule.type in by_type:
        return by_type[rule.type]
    inner = st.fixed_dictionaries({name: values(field) for name, field in rule.fields.items()})
    return inner if rule.type == "object" else st.lists(inner, max_size=2)


def _as_sets(contract: Contract) -> Any:
    """Return a contract in which the order of lists does not matter."""

    def sets(value: Any) -> Any:
        if isinstance(value, dict):
            return frozenset((key, sets(inner)) for key, inner in value.items())
        return frozenset(sets(inner) for inner in value) if isinstance(value, list) else value

    return sets(contract.model_dump(mode="json"))
