"""Schemas that end every answer, and counts that are never too low."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Annotated, Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from runtime.errors import InvalidOutputError, SettingsError
from runtime.llm.structured import (
    BOUNDS,
    bounded_schema,
    chosen,
    read_object,
    strict_schema,
    strings_so_far,
    unbounded_parts,
)
from runtime.llm.tokens import ByteCounter, TokenCounter, TokenizerCounter


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Step(_Strict):
    tool: str = Field(max_length=20, json_schema_extra=chosen("tools"))
    query: str = Field(max_length=80)


class Plan(_Strict):
    """Words for people that no model needs to pay for."""

    steps: list[Step] = Field(max_length=3)
    goal: str | None = Field(default=None, max_length=9)


def test_a_schema_is_whole_and_takes_only_what_may_be_chosen() -> None:
    schema = bounded_schema(Plan, {"tools": ["locate", "read"]})
    assert "$ref" not in str(schema)
    assert "Words for people" not in str(schema)
    assert schema["properties"]["steps"]["items"]["properties"]["tool"] == {
        "enum": ["locate", "read"],
        "type": "string",
    }
    jsonschema.validate({"steps": [{"tool": "read", "query": "x"}]}, schema)
    for bad in ({"steps": [{"tool": "rm", "query": "x"}]}, {"steps": [], "more": 1}, {"steps": [{"tool": "read"}]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, schema)


@pytest.mark.parametrize("choices", [None, {}, {"tools": []}])
def test_without_choices_a_field_stays_as_it_is(choices: dict[str, list[str]] | None) -> None:
    field = bounded_schema(Plan, choices)["properties"]["steps"]["items"]["properties"]["tool"]
    assert field == {"maxLength": 20, "type": "string"}


@pytest.mark.parametrize(
    ("schema", "loose"),
    [
        ({"type": "string"}, ["the whole"]),
        ({"type": "string", "maxLength": 5}, []),
        ({"enum": ["a"]}, []),
        ({"const": "a"}, []),
        ({"type": "integer", "minimum": 0}, ["the whole"]),
        ({"type": "integer", "minimum": 0, "maximum": 9}, []),
        ({"type": "boolean"}, []),
        ({"type": "array", "items": {"type": "string"}}, ["the whole", "[]"]),
        ({"type": "array", "maxItems": 2, "items": {"type": "string", "maxLength": 1}}, []),
        ({"type": "array", "maxItems": 2}, ["[]"]),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, ["the whole", "a"]),
        ({"anyOf": [{"type": "null"}, {"type": "string"}]}, ["the whole"]),
    ],
)
def test_every_place_without_an_end_is_found(schema: dict[str, Any], loose: list[str]) -> None:
    assert list(unbounded_parts(schema)) == loose


def test_a_shape_that_does_not_end_is_refused_by_name() -> None:
    class Loose(_Strict):
        text: str
        many: list[int] = Field(max_length=3)

    with pytest.raises(ValueError, match=r"Loose does not bound text, many\.\[\]"):
        bounded_schema(Loose)


@given(st.text(max_size=200))
def test_any_text_gives_an_object_or_says_why_not(text: str) -> None:
    try:
        assert isinstance(read_object(text, Plan), Plan)
    except InvalidOutputError as error:
        assert error.values["problem"]


class Bounds(_Strict):
    texts: list[Annotated[str, Field(max_length=3)]] = Field(min_length=1, max_length=2)
    share: float = Field(ge=0, le=1)
    count: int = Field(ge=1, le=9)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ({"texts": ["abc"], "share": 0.5, "count": 9}, {"texts": ["abc"], "share": 0.5, "count": 9}),
        ({"texts": ["abcd", "e", "f"], "share": 1.1, "count": 10}, {"texts": ["abc", "e"], "share": 1, "count": 9}),
        ({"texts": ["a"], "share": -1, "count": 0, "more": 1}, {"texts": ["a"], "share": 0, "count": 1}),
    ],
    ids=["fits", "too much", "too little, and a key of its own"],
)
def test_an_answer_that_is_only_too_long_or_out_of_bounds_is_cut_and_not_asked_for_again(
    written: dict[str, Any], read: dict[str, Any]
) -> None:
    assert read_object(json.dumps(written), Bounds).model_dump() == read


@pytest.mark.parametrize("written", [{"texts": [], "share": 0, "count": 1}, {"share": 0, "count": 1}, {"texts": "a"}])
def test_an_answer_that_lacks_something_is_asked_for_again(written: dict[str, Any]) -> None:
    with pytest.raises(InvalidOutputError):
        read_object(json.dumps(written), Bounds)


def test_a_strict_schema_has_no_bounds_and_requires_every_key() -> None:
    strict = strict_schema(bounded_schema(Plan, {"tools": ["locate"]}))
    assert set(re.findall(r'"(\w+)":', json.dumps(strict))).isdisjoint(BOUNDS)
    step = strict["properties"]["steps"]["items"]
    assert step["required"] == list(step["properties"])
    assert step["additionalProperties"] is False


def test_bare_control_characters_in_strings_are_taken() -> None:
    """Guided decoding lets them through."""
    assert read_object('{"steps": [{"tool": "a\tb", "query": "c\nd\x01"}]}', Plan).steps[0].query == "c\nd\x01"


@pytest.mark.parametrize("text", ["{" * 50_000, '{"a":' * 20_000, '{"steps": ' + "9" * 10_000 + "}", "\ud800{"])
def test_hostile_answers_are_invalid_and_no_more(text: str) -> None:
    with pytest.raises(InvalidOutputError):
        read_object(text, Plan)


@functools.cache
def tiny_tokenizer() -> TokenizerCounter:
    """A byte-level BPE tokenizer, trained on the spot."""
    library = pytest.importorskip("tokenizers")
    tokenizer = library.Tokenizer(library.models.BPE())
    tokenizer.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = library.pre_tokenizers.ByteLevel.alphabet()
    trainer = library.trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(["def read(self): return self.read", "the quick brown fox"] * 20, trainer)
    return TokenizerCounter(tokenizer)


@pytest.mark.parametrize("make", [ByteCounter, lambda: ByteCounter(3.5), tiny_tokenizer])
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture], max_examples=40)
@given(text=st.text(max_size=80), budget=st.integers(-1, 60))
def test_a_cut_text_is_a_beginning_that_fits(make: Any, text: str, budget: int) -> None:
    counter: TokenCounter = make()
    piece = counter.cut(text, budget)
    assert text.startswith(piece)
    assert counter.count(piece) <= max(0, budget)
    if counter.count(text) <= budget:
        assert piece == text


@given(st.text(max_size=100))
def test_bytes_are_never_fewer_than_tokens(text: str) -> None:
    assert ByteCounter().count(text) >= tiny_tokenizer().count(text)


def test_a_file_that_is_no_tokenizer_is_said(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(SettingsError):
        TokenizerCounter.open(tmp_path)
    with pytest.raises(SettingsError):
        TokenizerCounter.open(tmp_path / "none.json")


SAYS = [{"text": 'The "oldest" é \n🚀 line', "why": 'no "text": "here"'}, {"why": "x", "text": "second"}]


@pytest.mark.parametrize("is_ascii", [True, False])
def test_an_answer_that_is_being_written_shows_its_texts_and_each_grows(is_ascii: bool) -> None:
    told = json.dumps({"claims": SAYS, "note": ["text"]}, ensure_ascii=is_ascii)
    before = ""
    for end in range(len(told) + 1):
        shown = "\n".join(strings_so_far(told[:end], "text"))
        assert shown.startswith(before)
        shown.encode()  # half of a character would fail here
        before = shown
    assert strings_so_far(told, "text") == [str(said["text"]) for said in SAYS]


@given(st.text(max_size=200))
def test_no_text_is_too_odd_to_be_looked_at_while_it_is_written(text: str) -> None:
    assert all(isinstance(found, str) for found in strings_so_far(text, "text"))
