"""A stage's declared output: a bad schema is refused at the start, a bad output fails its stage and says where."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.agents.capability import StageResult
from runtime.errors import DocumentFaults, SettingsError
from runtime.pipeline.output_schema import OutputSchema
from runtime.run.envelope import InterruptRequest
from runtime.testing import PipelineBuilder
from tests.runtime.hosting.hosted import Hosted

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}},
        "born": {"type": "object", "properties": {"year": {"type": "integer", "minimum": 0}}},
    },
    "required": ["name"],
    "additionalProperties": False,
    "$defs": {"tag": {"type": "string", "pattern": "^[a-z]+$"}},
}


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ({"name": "ada"}, None),
        ({"name": "ada", "tags": [], "born": {"year": 0}}, None),
        ({}, "the output: 'name' is a required property"),
        ({"name": 7}, "name: 7 is not of type 'string'"),
        ({"name": "ada", "tags": ["ok", "Not Ok"]}, "tags.1: 'Not Ok' does not match '^[a-z]+$'"),
        ({"name": "ada", "born": {"year": -1}}, "born.year: -1 is less than the minimum of 0"),
        (
            {"name": "ada", "x": 1},
            "the output: Additional properties are not allowed ('x' was unexpected)",
        ),
    ],
)
def test_a_fault_names_its_place(output: dict[str, Any], says: str | None) -> None:
    fault = OutputSchema("a", PERSON).fault(output)
    assert fault == (None if says is None else f"output of stage 'a' does not fit its schema: {says}")


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"type": "strin"}, "is no JSON schema: 'strin' is not valid"),
        ({"required": "name"}, "is no JSON schema: 'name' is not of type 'array'"),
        ({"properties": {"x": {"pattern": "("}}}, "is no JSON schema: '(' is not a 'regex'"),
        ({"properties": {"x": {"minimum": "1"}}}, "is no JSON schema: '1' is not of type 'number'"),
        ({"$ref": "#/$defs/nope"}, "refers to '#/$defs/nope', which is not in it"),
        ({"properties": {"x": {"items": {"$ref": "#nope"}}}}, "refers to '#nope', which is not in it"),
        ({"$ref": "http://127.0.0.1:9/schema.json"}, "refers to 'http://127.0.0.1:9/schema.json', which is not in it"),
        ({"anyOf": [{"$dynamicRef": "#nope"}]}, "refers to '#nope', which is not in it"),
    ],
)
def test_a_schema_that_is_none_or_refers_to_nothing_is_refused_before_any_run(
    schema: dict[str, Any], says: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        OutputSchema("a", schema)
    assert "output_schema of agent 'a'" in caught.value.message
    assert says in caught.value.message
    with pytest.raises(DocumentFaults, match=r"agents\[0\]\.output_schema"):
        PipelineBuilder().stage("a", output_schema=schema).build()


def test_a_schema_may_refer_to_its_parts_by_their_own_names() -> None:
    inner = {"$id": "inner", "$defs": {"z": {"type": "string"}}, "properties": {"q": {"$ref": "#/$defs/z"}}}
    schema = OutputSchema("a", {"$id": "http://x/a", "$defs": {"i": inner}, "properties": {"p": {"$ref": "inner"}}})
    assert schema.fault({"p": {"q": "text"}}) is None
    assert "p.q: 1 is not of type 'string'" in str(schema.fault({"p": {"q": 1}}))


def test_a_schema_that_describes_itself_is_followed_as_deep_as_the_output_goes() -> None:
    tree = OutputSchema("a", {"type": "object", "additionalProperties": {"$ref": "#"}})
    assert tree.fault({"x": {"y": {}}}) is None
    assert "x.y: 1 is not of type 'object'" in str(tree.fault({"x": {"y": 1}}))


def test_a_schema_that_leads_round_in_a_circle_is_a_fault_and_no_crash() -> None:
    assert "leads round in a circle" in str(OutputSchema("a", {"$ref": "#"}).fault({}))


async def test_an_output_that_fits_is_kept() -> None:
    kit = Hosted(PipelineBuilder().stage("a", output_schema=PERSON).build(), {"a": [{"name": "ada"}]})
    envelope = await kit.run()
    assert (envelope.terminal_reason, envelope.outputs) == ("completed", {"a": {"name": "ada"}})


async def test_an_output_that_does_not_fit_ends_the_run_and_says_where_it_does_not() -> None:
    kit = Hosted(PipelineBuilder().stage("a", output_schema=PERSON).build(), {"a": [{"name": ["ada"]}]})
    envelope = await kit.run()
    assert envelope.terminal_reason == "internal_error"
    assert "does not fit its schema: name: ['ada'] is not of type 'string'" in str(envelope.terminal_detail)
    assert envelope.outputs == {}


async def test_an_output_that_does_not_fit_is_a_failed_attempt_like_any_other() -> None:
    config = PipelineBuilder().stage("a", output_schema=PERSON, max_retries=1, error_next="b").stage("b").build()
    kit = Hosted(config, {"a": [{}, {"name": "ada"}], "b": [{}]})
    envelope = await kit.settle(await kit.submit(), 1)
    assert [record.status for record in envelope.history] == ["error", "success"]
    kit = Hosted(config, {"a": [{}], "b": [{"mended": True}]})
    envelope = await kit.settle(await kit.submit(), 1)
    assert envelope.outputs == {"b": {"mended": True}}


async def test_a_question_needs_no_output() -> None:
    asks = StageResult({}, interrupt=InterruptRequest("clarification", "Who?"))
    kit = Hosted(PipelineBuilder().stage("a", output_schema=PERSON).build(), {"a": [asks]})
    assert (await kit.run()).terminal_reason == "clarification_required"


async def test_each_item_of_a_fan_out_is_checked() -> None:
    config = PipelineBuilder().stage("list", default_next="each")
    config.stage("each", foreach="outputs.list.items", output_schema=PERSON)
    kit = Hosted(config.build(), {"list": [{"items": [1, 2]}], "each": [{"name": "ada"}, {"name": 2}]})
    envelope = await kit.run()
    assert envelope.terminal_reason == "internal_error"
    assert "name: 2 is not of type 'string'" in str(envelope.terminal_detail)
