"""Pipelines as data: read, hashed, and checked with every fault said at once by file, line and key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import DocumentFaults
from runtime.pipeline.config import PipelineConfig, as_wire
from runtime.pipeline.loading import load_pipeline, parse_pipeline
from runtime.pipeline.pipeline_validation import problems_of
from runtime.testing import PipelineBuilder


def faults_of(text: str) -> list[str]:
    with pytest.raises(DocumentFaults) as caught:
        parse_pipeline(text, "p.yaml")
    found = caught.value.values["faults"]
    assert isinstance(found, list)
    return found


def test_a_pipeline_of_two_stages_is_read_with_the_defaults_of_the_specification() -> None:
    config = PipelineBuilder().stage("a", default_next="b").stage("b").build()
    assert (config.max_iterations, config.max_llm_calls, config.max_agent_hops) == (3, 10, 21)
    assert (config.default_timeout_s, config.max_tool_calls, config.max_tokens, config.deadline_s) == (
        300,
        50,
        None,
        None,
    )
    assert config.stages["a"].max_retries == 0
    assert config.stages["a"].key == "a"
    assert config.stages["a"].tool_access == "none"


def test_a_pipeline_is_read_from_a_file_and_faults_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(PipelineBuilder().stage("a").yaml(), encoding="utf-8")
    assert load_pipeline(path).name == "sample"
    path.write_text("name: p\nagents: []\n", encoding="utf-8")
    with pytest.raises(DocumentFaults, match=rf"{path}:2: agents: "):
        load_pipeline(path)


def test_a_run_begins_at_the_lowest_stage_order_wherever_it_is_written() -> None:
    text = "name: p\nagents:\n  - {name: late, stage_order: 5}\n  - {name: first, stage_order: 0, default_next: late}\n"
    assert parse_pipeline(text).first_stage.name == "first"


def test_every_kind_of_fault_is_reported_at_once_with_file_line_and_key() -> None:
    text = """name: p
final_stage: finale
agents:
  - name: a
    stage_order: 1
    has_llm: true
    default_next: bb
    error_next: clarification
    routing_rules:
      - {condition: x, value: 1, target: nowhere, clear: [nothing]}
      - {condition: x, value: 2, target: a}
  - name: b
    stage_order: 1
    has_tools: true
  - name: b
    stage_order: 3
    output_key: a
    allowed_tools: [look]
  - name: end
    stage_order: 4
edge_limits:
  - {from: a, to: zz, max_count: 1}
  - {from: b, to: a, max_count: 1}
  - {from: b, to: a, max_count: 2}
"""
    found = faults_of(text)
    expected = [
        "p.yaml:15: agents[2].name: 'b' is used by agents[1] already",
        "p.yaml:13: agents[1].stage_order: 1 is used by agents[0] already",
        "p.yaml:17: agents[2].output_key: 'a' is used by agents[0] already",
        "p.yaml:19: agents[3].name: 'end' is a routing target of its own and cannot name a stage",
        "p.yaml:10: agents[0].routing_rules[0].target: unknown target 'nowhere'",
        "p.yaml:7: agents[0].default_next: unknown target 'bb'; did you mean 'b'?",
        "p.yaml:8: agents[0].error_next: unknown target 'clarification'",
        "p.yaml:22: edge_limits[0].to: unknown target 'zz'",
        "p.yaml:2: final_stage: unknown target 'finale'",
        "p.yaml:10: agents[0].routing_rules[0].clear: unknown target 'nothing'",
        "p.yaml:4: agents[0].model_role: required when has_llm is true",
        "p.yaml:12: agents[1].tool_access: 'none' although has_tools is true",
        "p.yaml:12: agents[1].allowed_tools: names no tool although has_tools is true",
        "p.yaml:18: agents[2].allowed_tools: given although has_tools is false",
        "p.yaml:23: edge_limits[1]: no routing leads from 'b' to 'a'",
        "p.yaml:24: edge_limits[2]: edge 'b' -> 'a' has a limit already",
        "p.yaml:4: agents[0]: 'a' may follow itself without an edge limit",
        "p.yaml:12: agents[1]: stage 'b' cannot be reached from 'a'",
    ]
    for wanted in expected:
        assert any(fault.startswith(wanted) for fault in found), (wanted, found)


def test_every_kind_of_fault_in_joins_fan_outs_and_questions_is_reported_at_once_with_file_line_and_key() -> None:
    text = """name: p
default_run_mode: parallel
clarification_resume_stage: aa
interrupt_expiry: {checkpoint: end, clarifiction: end, confirmation: proceed}
loop_detection: {identical_action: 1, spinning: 3}
agents:
  - name: a
    stage_order: 1
    requires: [a, nobody]
    after: [a, b, b]
    join_strategy: any
  - name: b
    stage_order: 2
    foreach: outputs.plans.steps
    routing_rules:
      - {condition: verdict, value: 1, target: end}
  - name: c
    stage_order: 3
    foreach: outputs.c.steps
    requires: [d]
    join_strategy: any
  - name: d
    stage_order: 4
    requires: [e]
    foreach_concurrency: 2
  - name: e
    stage_order: 5
    requires: [c]
"""
    found = faults_of(text)
    expected = [
        "p.yaml:3: clarification_resume_stage: unknown target 'aa'; did you mean 'a'?",
        "p.yaml:4: interrupt_expiry.checkpoint: a checkpoint never expires",
        "p.yaml:4: interrupt_expiry.clarifiction: unknown kind of interrupt 'clarifiction'; did you mean 'clarif",
        "p.yaml:5: loop_detection.identical_action: 1 is no repetition; at least 2",
        "p.yaml:5: loop_detection.spinning: unknown kind of loop 'spinning'; known: error_cycle, identical_action, no_",
        "p.yaml:9: agents[0].requires[0]: 'a' cannot require itself",
        "p.yaml:9: agents[0].requires[1]: unknown stage 'nobody'; known: a, b, c, d, e",
        "p.yaml:10: agents[0].after[0]: 'a' cannot come after itself",
        "p.yaml:10: agents[0].after[2]: 'b' is given twice",
        "p.yaml:14: agents[1].foreach: unknown output key 'plans'",
        "p.yaml:16: agents[1].routing_rules[0].condition: the output of a stage with foreach has the field 'items'",
        "p.yaml:19: agents[2].foreach: the stage's own output",
        "p.yaml:21: agents[2].join_strategy: 'any' of 1 required stages; at least 2",
        "p.yaml:25: agents[3].foreach_concurrency: given although there is no foreach",
        "p.yaml:20: agents[2].requires: 'c' -> 'd' -> 'e' -> 'c': they require one another in a circle",
    ]
    for wanted in expected:
        assert sum(fault.startswith(wanted) for fault in found) == 1, (wanted, found)
    assert len(found) == len(expected)


def parallel(**requires: str) -> PipelineBuilder:
    builder = PipelineBuilder.parallel()
    for name, required in requires.items():
        builder.stage(name, requires=required.split())
    return builder


def fault_of(builder: PipelineBuilder) -> str:
    (fault,) = faults_of(builder.yaml())
    return fault.split(": ", 1)[1]


def test_a_circle_of_requirements_is_named_once_and_two_circles_are_named_both() -> None:
    assert fault_of(parallel(a="", b="a d", c="b", d="c")).startswith("agents[1].requires: 'b' -> 'd' -> 'c' -> 'b'")
    found = faults_of(parallel(a="b", b="a", c="d", d="c", e="").yaml())
    assert [fault.split(": ")[1] for fault in found] == ["agents[0].requires", "agents[2].requires"]


def test_a_circle_of_after_is_named_also_when_requirements_are_a_part_of_it() -> None:
    circle = PipelineBuilder.parallel().stage("a", after=["b"]).stage("b", after=["a"])
    assert fault_of(circle) == "agents[0].after: 'a' -> 'b' -> 'a': they wait for one another in a circle"
    mixed = PipelineBuilder.parallel().stage("a", after=["b"]).stage("b", requires=["a"])
    assert fault_of(mixed) == "agents[0].after: 'a' -> 'b' -> 'a': they wait for one another in a circle"


def test_a_stage_of_a_parallel_pipeline_that_can_never_start_is_told_what_it_lacks() -> None:
    never = PipelineBuilder.parallel(final_stage="z").stage("a").stage("b", requires=["z"]).stage("z")
    assert fault_of(never) == "agents[1].requires: 'b' can never start: it lacks 'z'"
    chain = PipelineBuilder.parallel(final_stage="z").stage("a").stage("b", requires=["z"]).stage("c", requires=["b"])
    assert [fault.split(": ", 1)[1] for fault in faults_of(chain.stage("z").yaml())] == [
        "agents[1].requires: 'b' can never start: it lacks 'z'",
        "agents[2].requires: 'c' can never start: it lacks 'b'",
    ]


def test_a_join_of_any_can_start_when_one_of_its_requirements_can() -> None:
    builder = PipelineBuilder.parallel(final_stage="z").stage("a")
    builder.stage("j", requires=["a", "z"], join_strategy="any").stage("z").build()


def test_parallel_stages_that_nothing_routes_to_are_reached_and_routed_ones_through_their_routes() -> None:
    parallel(a="", b="", c="a b").build()
    PipelineBuilder.parallel().stage("a", error_next="b").stage("b", default_next="c").stage("c").build()
    PipelineBuilder.parallel(clarification_resume_stage="b").stage("a", default_next="clarification").stage("b").build()


def test_a_stage_that_only_later_stages_route_back_to_is_part_of_every_parallel_run() -> None:
    builder = PipelineBuilder.parallel().stage("other").stage("plan").stage("judge", requires=["plan"])
    config = builder.rule("again", True, "plan").build()
    assert [agent.name for agent in config.scheduled] == ["other", "plan", "judge"]


def test_a_sequential_stage_cannot_require_what_can_only_come_later() -> None:
    late = PipelineBuilder().stage("a", default_next="b").stage("b", requires=["c"], default_next="c").stage("c")
    assert fault_of(late) == "agents[1].requires: no way leads through 'c' before 'b'"
    one_is_enough = {"requires": ["a", "c"], "join_strategy": "any"}
    PipelineBuilder().stage("a", default_next="b").stage("b", **one_is_enough, default_next="c").stage("c").build()
    in_time = PipelineBuilder().stage("a", default_next="b").rule("x", 1, "c").stage("b", requires=["c"])
    in_time.stage("c", default_next="b").build()


def test_a_stage_that_is_only_resumed_at_counts_as_reached() -> None:
    PipelineBuilder(confirmation_resume_stage="b").stage("a", default_next="confirmation").stage("b").build()


def test_a_stage_of_a_parallel_pipeline_that_is_only_resumed_at_is_no_part_of_every_run() -> None:
    def scheduled(builder: PipelineBuilder) -> list[str]:
        return [agent.name for agent in builder.build().scheduled]

    asked = PipelineBuilder.parallel(clarification_resume_stage="b", agent_review_resume_stage="c").stage("a")
    assert scheduled(asked.stage("b").stage("c").stage("d")) == ["a", "d"]
    first = PipelineBuilder.parallel(clarification_resume_stage="a").stage("a").stage("b")
    assert scheduled(first) == ["a", "b"]
    needed = PipelineBuilder.parallel(clarification_resume_stage="b").stage("a").stage("b").stage("c", requires=["b"])
    assert scheduled(needed) == ["a", "b", "c"]
    needing = PipelineBuilder.parallel(clarification_resume_stage="b").stage("a").stage("b", requires=["a"])
    assert scheduled(needing) == ["a", "b"]


def test_after_has_no_place_in_a_sequential_pipeline() -> None:
    builder = PipelineBuilder().stage("a", default_next="b").stage("b", after=["a"])
    assert fault_of(builder) == "agents[1].after: only orders in a parallel pipeline; routes order a sequential one"
    PipelineBuilder.parallel().stage("a").stage("b", after=["a"]).build()


def test_a_run_mode_that_cannot_be_read_is_not_taken_for_a_sequential_one() -> None:
    builder = PipelineBuilder(default_run_mode="paralel").stage("a", default_next="b").stage("b", after=["a"])
    assert fault_of(builder).startswith("default_run_mode: Input should be 'sequential' or 'parallel'")


def test_a_route_from_a_stage_with_foreach_may_look_at_its_items() -> None:
    builder = PipelineBuilder().stage("a", default_next="b").stage("b", foreach="outputs.a.x", foreach_concurrency=2)
    builder.rule("items", [], "end").build()


@pytest.mark.parametrize("path", ["outputs", "outputs.", "a.b", "outputs.a b", "outputs..a"])
def test_a_foreach_that_is_no_path_into_outputs_is_a_fault(path: str) -> None:
    assert "foreach" in faults_of(PipelineBuilder().stage("a", foreach=path).yaml())[0]


def large_pipeline() -> PipelineBuilder:
    builder = PipelineBuilder.parallel(max_agent_hops=999)
    for number in range(50):
        requires = [f"s{other}" for other in range(max(0, number - 3), number)]
        builder.stage(f"s{number}", requires=requires, after=requires[:1], default_next="end")
        if number:
            builder.rule("again", True, f"s{number - 1}").edge_limit(f"s{number}", f"s{number - 1}", 1)
    return builder


def test_a_large_pipeline_is_checked_in_the_time_that_its_size_warrants(benchmark: Any) -> None:
    data = large_pipeline().data
    found = benchmark(lambda: problems_of(PipelineConfig.model_validate(data)))
    assert found == []


def test_faults_in_single_values_and_faults_across_stages_are_reported_together() -> None:
    text = """agents:
  - {name: a, stage_order: one, defualt_next: b, timeout_s: .inf, default_next: nowhere}
  - {name: B, stage_order: 2, max_retries: -1}
  - {name: c, routing_rules: [{condition: x, value: 2024-01-01}]}
edge_limits:
  - {from: a, to: zz, max_count: -1}
final_stage: finale
"""
    found = faults_of(text)
    for wanted in (
        "p.yaml:1: name: required, but missing",
        "p.yaml:2: agents[0].defualt_next: unknown key",
        "p.yaml:2: agents[0].stage_order: ",
        "p.yaml:2: agents[0].timeout_s: ",
        "p.yaml:3: agents[1].name: ",
        "p.yaml:3: agents[1].max_retries: ",
        "p.yaml:4: agents[2].stage_order: required, but missing",
        "p.yaml:4: agents[2].routing_rules[0].value: ",
        "p.yaml:4: agents[2].routing_rules[0].target: required, but missing",
        "p.yaml:6: edge_limits[0].max_count: ",
    ):
        assert sum(fault.startswith(wanted) for fault in found) == 1, (wanted, found)


def test_a_missing_key_does_not_hide_an_unknown_target() -> None:
    text = "name: p\nagents:\n  - {name: a, default_next: nowhere}\nfinal_stage: finale\n"
    found = faults_of(text)
    assert found[0] == "p.yaml:3: agents[0].stage_order: required, but missing"
    assert [fault.split(";")[0] for fault in found[1:]] == [
        "p.yaml:3: agents[0].default_next: unknown target 'nowhere'",
        "p.yaml:4: final_stage: unknown target 'finale'",
    ]


def test_a_wrong_item_does_not_make_its_list_too_short() -> None:
    assert faults_of("name: p\nagents:\n  - {name: a, stage_order: x}\n") == [
        "p.yaml:3: agents[0].stage_order: Input should be a valid integer, not 'x'"
    ]


@pytest.mark.parametrize("text", ["", "7", "[a, b]", "just words"])
def test_a_document_that_is_no_mapping_is_no_pipeline(text: str) -> None:
    assert faults_of(text) == ["p.yaml:1: not a pipeline: the document must be a mapping with name and agents"]


@pytest.mark.parametrize("key", ["max_iterations", "max_llm_calls", "max_agent_hops", "max_tool_calls", "max_tokens"])
def test_a_bound_of_zero_is_allowed_and_one_below_is_not(key: str) -> None:
    assert getattr(PipelineBuilder(**{key: 0}).stage("a").build(), key) == 0
    with pytest.raises(DocumentFaults, match=f"{key}: "):
        PipelineBuilder(**{key: -1}).stage("a").build()


@pytest.mark.parametrize("value", [0, -1, float("inf"), float("nan"), 31_536_001])
@pytest.mark.parametrize("key", ["deadline_s", "default_timeout_s"])
def test_a_span_of_time_is_positive_finite_and_at_most_a_year(key: str, value: Any) -> None:
    with pytest.raises(DocumentFaults, match=f"{key}: "):
        PipelineBuilder(**{key: value}).stage("a").build()


def test_a_self_loop_with_an_edge_limit_is_accepted_also_when_it_is_the_error_route() -> None:
    PipelineBuilder().stage("a", default_next="a").edge_limit("a", "a", 0).build()
    with pytest.raises(DocumentFaults, match="may follow itself"):
        PipelineBuilder().stage("a", error_next="a").build()
    PipelineBuilder().stage("a", error_next="a").edge_limit("a", "a", 1).build()


def test_a_final_stage_counts_as_reached_without_a_route() -> None:
    PipelineBuilder(final_stage="b").stage("a").stage("b").build()


def test_a_stage_that_only_an_error_route_leads_to_counts_as_reached() -> None:
    PipelineBuilder().stage("a", error_next="b").stage("b").build()


def test_the_targets_of_a_stage_come_in_the_order_of_routing() -> None:
    config = (
        PipelineBuilder().stage("a", error_next="c").rule("x", 1, "b").rule("x", 2, "b").stage("b").stage("c").build()
    )
    assert config.targets_of(config.stages["a"]) == ("b", "end", "c")


def test_a_pipeline_cannot_be_changed() -> None:
    config = PipelineBuilder().stage("a").build()
    with pytest.raises(ValueError, match="frozen"):
        config.max_iterations = 5  # type: ignore[misc]


def test_the_hash_names_the_rules_and_nothing_else() -> None:
    one = PipelineBuilder().stage("a", default_next="b").stage("b").build()
    two = PipelineBuilder().stage("a", default_next="b", timeout_s=5).stage("b").build()
    assert (
        one.config_hash
        == parse_pipeline(
            "# a comment\n" + PipelineBuilder().stage("a", default_next="b").stage("b").yaml()
        ).config_hash
    )
    assert one.config_hash != two.config_hash


def test_a_pipeline_survives_the_wire_with_its_hash() -> None:
    builder = PipelineBuilder(deadline_s=2.5, final_stage="b", context_bounds={"files": 3}).stage(
        "a", allowed_tools=["x"], has_tools=True, tool_access="read"
    )
    config = builder.rule("x", {"k": [1, None]}, "b", ["a"]).stage("b").edge_limit("a", "b", 2).build()
    copy = PipelineConfig.model_validate(as_wire(config))
    assert copy == config
    assert copy.config_hash == config.config_hash


json_like = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 40) | st.floats() | st.sampled_from(["a", "b", "end", "", "A b"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["name", "stage_order", "routing_rules", "target", "condition", "value", "default_next", "clear"]
            ),
            inner,
        )
    ),
    max_leaves=10,
)


@given(
    st.dictionaries(st.sampled_from(["name", "agents", "edge_limits", "final_stage", "max_tokens", "junk"]), json_like)
)
def test_whatever_a_document_says_it_is_a_pipeline_or_has_faults_that_name_the_file(data: dict[str, Any]) -> None:
    import yaml

    try:
        parse_pipeline(yaml.safe_dump(data), "p.yaml")
    except DocumentFaults as error:
        assert error.values["faults"]
        assert all(fault.startswith("p.yaml") for fault in error.values["faults"])


@pytest.mark.parametrize("kind", ["clarification", "confirmation", "agent_review"])
def test_a_stage_that_only_asks_needs_a_stage_that_goes_on_with_the_answer(kind: str) -> None:
    says = "each answer leads back to 'a', which asks again until a bound ends the run"
    only = PipelineBuilder().stage("a", default_next=kind)
    assert fault_of(only) == f"agents[0].default_next: {says}; name a {kind}_resume_stage, or a route that does not ask"
    itself = PipelineBuilder(**{f"{kind}_resume_stage": "a"}).stage("a", default_next=kind)
    assert fault_of(itself).startswith(f"agents[0].default_next: {says}")
    by_rule = PipelineBuilder().stage("a", default_next=kind).rule("r", 1, "confirmation")
    assert any(f"agents[0].routing_rules[0].target: {says}" in fault for fault in faults_of(by_rule.yaml()))
    PipelineBuilder(**{f"{kind}_resume_stage": "b"}).stage("a", default_next=kind).stage("b").build()
    PipelineBuilder().stage("a", default_next="end").rule("unsure", True, kind).build()
    PipelineBuilder().stage("a", default_next=kind).rule("sure", True, "end").build()


def test_an_agent_with_tools_names_them() -> None:
    nameless = PipelineBuilder().stage("a", has_tools=True, tool_access="read")
    says = "names no tool although has_tools is true: every call would be denied; name them"
    assert fault_of(nameless) == f"agents[0].allowed_tools: {says}"
