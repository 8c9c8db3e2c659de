"""Joins by themselves: what may start, what never can, who lost a race, what a failure takes with it."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.pipeline.config import AgentConfig, PipelineConfig
from runtime.run.joins import Statuses, dependants, is_held_back, join_state, losers, lost_after_failure, startable
from runtime.testing import PipelineBuilder


def joining(strategy: str) -> AgentConfig:
    return AgentConfig.model_validate(
        {"name": "j", "stage_order": 1, "requires": ["a", "b"], "join_strategy": strategy}
    )


def graph(**requires: Any) -> PipelineConfig:
    """A parallel pipeline: stage → what it requires; `any_` before the name makes its join one of `any`."""
    builder = PipelineBuilder.parallel()
    for name, required in requires.items():
        strategy = "any" if name.startswith("any_") else "all"
        builder.stage(name.removeprefix("any_"), requires=required.split(), join_strategy=strategy)
    return PipelineConfig.model_validate(builder.data)


@pytest.mark.parametrize(
    ("strategy", "a", "b", "expected"),
    [
        ("all", None, None, "waiting"),
        ("all", "success", None, "waiting"),
        ("all", "success", "active", "waiting"),
        ("all", "success", "asking", "waiting"),
        ("all", "success", "success", "ready"),
        ("all", "success", "handled", "impossible"),
        ("all", "failed", None, "impossible"),
        ("all", "active", "cancelled", "impossible"),
        ("any", None, None, "waiting"),
        ("any", "success", None, "ready"),
        ("any", "success", "failed", "ready"),
        ("any", "failed", "active", "waiting"),
        ("any", "failed", "asking", "waiting"),
        ("any", "failed", "handled", "impossible"),
        ("any", "cancelled", "failed", "impossible"),
    ],
)
def test_a_join_is_ready_waits_or_can_never_be(strategy: str, a: Any, b: Any, expected: str) -> None:
    statuses: Statuses = {name: status for name, status in (("a", a), ("b", b)) if status is not None}
    assert join_state(joining(strategy), statuses) == expected


def test_a_stage_that_requires_nothing_is_always_ready() -> None:
    assert join_state(graph(a="").stages["a"], {}) == "ready"


def test_stages_may_start_in_stage_order_each_once() -> None:
    config = graph(a="", b="", c="a", d="a b")
    assert startable(config, {}) == ["a", "b"]
    assert startable(config, {"a": "success"}) == ["b", "c"]
    assert startable(config, {"a": "success", "b": "active", "c": "failed"}) == []


def test_after_holds_back_until_a_stage_that_is_part_of_the_run_has_settled_however_it_ended() -> None:
    builder = PipelineBuilder.parallel().stage("a").stage("b", after=["a"]).stage("c", after=["routed"])
    config = builder.stage("d", error_next="routed").stage("routed").build()
    b, c = config.stages["b"], config.stages["c"]
    assert [is_held_back(b, config, {"a": status}) for status in ("active", "asking")] == [True, True]
    assert not any(is_held_back(b, config, {"a": s}) for s in ("success", "failed", "handled", "cancelled"))
    assert is_held_back(b, config, {}), "a scheduled stage is part of the run before it starts"
    assert not is_held_back(c, config, {}), "a stage that nothing has routed to is no part of the run"
    assert is_held_back(c, config, {"routed": "active"})


def test_the_losers_of_a_race_are_the_other_requirements_that_have_not_settled() -> None:
    config = graph(a="", b="", c="", any_j="a b c")
    assert losers(config, config.stages["j"], {"a": "success", "b": "active", "c": "failed"}) == ["b"]
    assert losers(config, config.stages["j"], {"a": "success"}) == ["b", "c"]


def test_a_loser_that_another_stage_waits_for_is_none() -> None:
    config = graph(a="", b="", any_j="a b", k="b")
    statuses: Statuses = {"a": "success", "b": "active"}
    assert losers(config, config.stages["j"], statuses) == []
    assert losers(config, config.stages["j"], {**statuses, "k": "active"}) == ["b"]


def test_what_only_a_loser_waited_for_loses_with_it() -> None:
    config = graph(a="", up="", slow="up", any_j="a slow")
    assert losers(config, config.stages["j"], {"a": "success", "up": "active"}) == ["slow", "up"]
    shared = graph(a="", up="", one="up", two="up", other="up", any_j="a one two")
    assert losers(shared, shared.stages["j"], {"a": "success", "up": "active"}) == ["one", "two"]


def test_what_routes_onwards_by_itself_does_not_lose_with_a_loser() -> None:
    builder = PipelineBuilder.parallel().stage("a").stage("up", default_next="beyond").stage("slow", requires=["up"])
    config = builder.stage("j", requires=["a", "slow"], join_strategy="any").stage("beyond").build()
    assert losers(config, config.stages["j"], {"a": "success", "up": "active"}) == ["slow"]


def test_a_join_of_all_has_no_losers() -> None:
    config = graph(a="", b="", j="a b")
    assert losers(config, config.stages["j"], {"a": "success"}) == []


@pytest.mark.parametrize(
    ("requires", "statuses", "expected"),
    [
        ({"a": ""}, {}, None),
        ({"a": "", "j": "a"}, {}, None),
        ({"a": "", "b": "", "any_j": "a b"}, {}, []),
        ({"a": "", "b": "", "any_j": "a b"}, {"b": "failed"}, None),
        ({"a": "", "b": "", "any_j": "a b", "k": "a"}, {}, None),
        ({"a": "", "b": "", "mid": "a", "any_j": "mid b"}, {}, ["mid"]),
        ({"a": "", "b": "", "mid": "a", "any_j": "mid b"}, {"b": "handled"}, None),
        ({"a": "", "b": "", "mid": "a", "far": "mid", "any_j": "far b"}, {}, ["mid", "far"]),
        ({"a": "", "b": "", "one": "a", "two": "a one", "any_j": "two b"}, {}, ["one", "two"]),
        ({"a": "", "b": "", "any_j": "a b"}, {"b": "success", "j": "active"}, None),
        ({"a": "", "b": "", "feed": "", "mid": "a feed", "any_j": "mid b"}, {"feed": "active"}, ["mid", "feed"]),
        ({"a": "", "b": "", "feed": "", "mid": "a feed", "any_j": "mid b", "k": "feed"}, {}, ["mid"]),
    ],
)
def test_a_failure_takes_with_it_what_can_never_start_or_the_whole_run(
    requires: dict[str, str], statuses: Statuses, expected: list[str] | None
) -> None:
    assert lost_after_failure(graph(**requires), "a", statuses) == expected


def test_dependants_are_direct_and_indirect_and_never_the_stage_itself() -> None:
    config = graph(a="", b="a", c="b", d="")
    assert dependants(config, "a") == {"b", "c"}
    assert dependants(config, "d") == set()
    in_a_circle = PipelineConfig.model_validate(
        {
            "name": "circle",
            "agents": [
                {"name": "a", "stage_order": 1, "requires": ["b"]},
                {"name": "b", "stage_order": 2, "requires": ["a"]},
            ],
        }
    )
    assert dependants(in_a_circle, "a") == {"b"}
