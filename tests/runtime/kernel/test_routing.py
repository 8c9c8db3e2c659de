"""Routing: rules in order, the first match wins, then default_next, then the end."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.pipeline.config import AgentConfig, RoutingRule
from runtime.run.routing import Move, next_move, same_value


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, 1.0),
        (0, -0.0),
        (2**60, float(2**60)),
        ("a", "a"),
        (None, None),
        (True, True),
        ([1, 2], [1.0, 2]),
        ((1, 2), [1, 2]),
        ({"a": [1], "b": None}, {"b": None, "a": [1.0]}),
    ],
)
def test_these_are_the_same_json_value(left: Any, right: Any) -> None:
    assert same_value(left, right)
    assert same_value(right, left)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (True, 1),
        (False, 0),
        (True, 1.0),
        (False, None),
        (None, 0),
        (None, ""),
        ("1", 1),
        ("true", True),
        ([True], [1]),
        ([1], [1, 1]),
        ([1, 2], [2, 1]),
        ([], {}),
        ({"a": 1}, {"a": True}),
        ({"a": None}, {}),
        ({"a": 1}, {"a": 1, "b": 1}),
        (2**53 + 1, float(2**53)),
        ("é", "e\u0301"),
    ],
)
def test_these_are_different_json_values(left: Any, right: Any) -> None:
    assert not same_value(left, right)
    assert not same_value(right, left)


def agent(*rules: RoutingRule, default_next: str | None = None) -> AgentConfig:
    return AgentConfig(name="a", stage_order=1, routing_rules=rules, default_next=default_next)


def rule(condition: str, value: Any, target: str, clear: tuple[str, ...] = ()) -> RoutingRule:
    return RoutingRule(condition=condition, value=value, target=target, clear=clear)


def test_the_first_matching_rule_wins() -> None:
    config = agent(rule("x", 0, "zero"), rule("x", 1, "one", ("k",)), rule("x", 1, "other"), default_next="d")
    assert next_move(config, {"x": 1}) == Move("one", ("k",), 1)


def test_without_a_match_the_default_is_next() -> None:
    assert next_move(agent(rule("x", 1, "one"), default_next="d"), {"x": 2}) == Move("d")


def test_without_a_match_and_a_default_the_run_ends() -> None:
    assert next_move(agent(rule("x", 1, "one")), {}) == Move("end")


def test_a_missing_key_matches_nothing_not_even_null() -> None:
    config = agent(rule("x", None, "null"), default_next="d")
    assert next_move(config, {}).target == "d"
    assert next_move(config, {"x": None}).target == "null"


def test_a_rule_for_true_does_not_match_one() -> None:
    config = agent(rule("x", True, "yes"), rule("x", 1, "one"))
    assert next_move(config, {"x": 1.0}).target == "one"
    assert next_move(config, {"x": True}).target == "yes"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(json_values, json_values)
def test_sameness_is_reflexive_and_symmetric_and_finer_than_equality(left: Any, right: Any) -> None:
    assert same_value(left, left)
    assert same_value(left, right) == same_value(right, left)
    if same_value(left, right):
        assert left == right


@given(st.lists(st.tuples(st.sampled_from("xy"), json_values, st.sampled_from("abc")), max_size=5), json_values)
def test_a_move_is_always_one_that_the_stage_declares(rules: list[tuple[str, Any, str]], value: Any) -> None:
    config = agent(*(rule(*parts) for parts in rules), default_next="d")
    move = next_move(config, {"x": value})
    assert move.target in {"d", *(target for _, _, target in rules)}
    if move.rule is not None:
        assert rules[move.rule][0] == "x"
        assert all(not (name == "x" and same_value(value, wanted)) for name, wanted, _ in rules[: move.rule])
