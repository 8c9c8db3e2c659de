"""What becomes of a tool's result: the rule of each tool, held against results of the real tools."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.capabilities.code_analysis.evidence.facts import MAPPED_SCORE, CodeFact, distinct, facts_of, ranges_of
from actors.capabilities.code_analysis.tools.toolset import TOOLS
from runtime.codebase.citation import ToolResult
from runtime.codebase.codebase import Codebase
from tests.capabilities.code_analysis.support import FILES, cited, step_of


def call(codebase: Codebase, name: str, **arguments: Any) -> ToolResult:
    tool = TOOLS.get(name)
    return tool.run(codebase, tool.read_arguments(arguments))


def facts(codebase: Codebase, name: str, **arguments: Any) -> list[CodeFact]:
    return facts_of(step_of(name), call(codebase, name, **arguments))


def lines_of(fact: CodeFact) -> str:
    lines = FILES[fact.citation.file].split("\n")
    return "\n".join(lines[fact.citation.start_line - 1 : fact.citation.end_line])


def test_locate_gives_definitions_with_their_own_words(codebase: Codebase) -> None:
    best = facts(codebase, "locate", query="deliver_parcel")[0]
    assert (best.kind, best.name, best.symbol_kind) == ("definition", "deliver_parcel", "function")
    assert best.docstring.startswith("Carry the oldest parcel")
    assert best.score == 1.0
    assert best.step == "s1"
    assert lines_of(best).startswith("def deliver_parcel")


def test_locate_gives_text_hits_as_excerpts_without_a_name(codebase: Codebase) -> None:
    found = facts(codebase, "locate", query="timeout_seconds")
    excerpts = [fact for fact in found if fact.citation.file == "relay/settings.yaml"]
    assert excerpts
    assert all("timeout_seconds" in lines_of(fact) for fact in excerpts)
    assert all(not fact.name for fact in excerpts if fact.kind == "excerpt")


def test_the_best_hit_of_locate_scores_one_and_none_scores_more(codebase: Codebase) -> None:
    scores = [fact.score for fact in facts(codebase, "locate", query="where is a parcel accepted by a depot")]
    assert max(scores) == 1.0
    assert min(scores) >= 0.0


def test_a_word_that_occurs_only_aside_is_cited_where_it_stands_though_a_value_is_asked_for() -> None:
    step = {"file": "relay/depot.py", "line": 7, "text": "CAPACITY = 9", "citation": 1}
    chain = {"name": "CAPACITY", "owner": "", "role": "constant", "value": "9", "conditions": [], "function": ""}
    values = [
        {"part": "", "share": 1.0, "name": "CAPACITY", "chains": [{**chain, "is_secret": False, "steps": [step]}]}
    ]
    data = {"results": [], "passages": [], "absence": {"aside": [{"word": "redis"}]}, "values": values}
    result = ToolResult("ok", data, (cited("CHANGELOG.md", 4), cited("relay/depot.py", 7)))
    aside = [fact for fact in facts_of(step_of("locate"), result) if fact.kind == "only_aside"]
    assert [(fact.name, fact.citation.file) for fact in aside] == [("redis", "CHANGELOG.md")]


def test_hits_in_tests_are_known_as_such(codebase: Codebase) -> None:
    found = facts(codebase, "locate", query="test_a_full_depot_is_full")
    assert {fact.is_test for fact in found if fact.citation.file.startswith("tests/")} == {True}
    assert not any(fact.is_test for fact in found if fact.citation.file.startswith("relay/"))


def test_read_code_gives_the_text_and_the_lines_it_stands_in(codebase: Codebase) -> None:
    (fact,) = facts(codebase, "read_code", path="relay/van.py", start_line=6, end_line=8)
    assert fact.kind == "code"
    assert fact.text == lines_of(fact)
    assert fact.place == ("relay/van.py", 6, 8)


def test_uses_of_a_symbol_become_facts_by_their_part(codebase: Codebase) -> None:
    found = facts(codebase, "explore_symbol_usage", symbol="is_full")
    kinds = {fact.kind for fact in found}
    assert {"definition", "caller", "test"} <= kinds
    assert {fact.about for fact in found} == {"is_full"}
    caller = next(fact for fact in found if fact.kind == "caller")
    assert (caller.name, caller.citation.file) == ("Depot.accept", "relay/depot.py")
    assert "is_full(" in lines_of(caller)
    tested = next(fact for fact in found if fact.kind == "test")
    assert tested.is_test


def test_callees_carry_the_definition_that_they_mean(codebase: Codebase) -> None:
    found = [fact for fact in facts(codebase, "explore_symbol_usage", symbol="deliver_parcel") if fact.kind == "callee"]
    assert {fact.name for fact in found} == {"Depot.release", "Depot.accept"}
    assert all(lines_of(fact).strip().startswith(f"def {fact.name.split('.')[1]}") for fact in found)


def test_importers_are_facts_too(codebase: Codebase) -> None:
    found = [fact for fact in facts(codebase, "explore_symbol_usage", symbol="Depot") if fact.kind == "importer"]
    assert "relay/van.py" in {fact.citation.file for fact in found}
    assert all("import" in lines_of(fact) for fact in found)


def test_a_map_gives_a_module_and_its_symbols_which_count_less_than_a_hit(codebase: Codebase) -> None:
    found = facts(codebase, "map_module", path="relay")
    modules = {fact.name: fact for fact in found if fact.kind == "module"}
    assert modules["relay/errors.py"].docstring == "What can go wrong."
    assert modules["relay/errors.py"].text == "RelayError, DepotFullError, ParcelLostError"
    symbols = [fact for fact in found if fact.kind == "definition" and fact.citation.file == "relay/errors.py"]
    assert [fact.name for fact in symbols] == ["RelayError", "DepotFullError", "ParcelLostError"]
    assert [fact.score for fact in symbols] == sorted((fact.score for fact in symbols), reverse=True)
    assert all(fact.score < MAPPED_SCORE for fact in symbols)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("locate", {"query": "no_such_thing_zzz"}),
        ("read_code", {"path": "../../etc/passwd"}),
        ("read_code", {"path": ".env"}),
        ("read_code", {"path": "relay/van.py", "start_line": 900}),
        ("explore_symbol_usage", {"symbol": "no_such_thing_zzz"}),
        ("map_module", {"path": "/etc"}),
    ],
)
def test_a_call_that_found_nothing_gives_neither_facts_nor_ranges(
    codebase: Codebase, name: str, arguments: dict[str, Any]
) -> None:
    result = call(codebase, name, **arguments)
    assert not result.usable
    assert facts_of(step_of(name), result) == []
    assert ranges_of(result) == []


def test_a_tool_without_a_rule_gives_no_facts(codebase: Codebase) -> None:
    assert facts(codebase, "list_tools") == []
    assert facts_of(step_of("made_up"), call(codebase, "locate", query="Depot")) == []


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("locate", {"query": "how does a depot accept parcels"}),
        ("locate", {"query": "Depot"}),
        ("read_code", {"symbol": "Depot"}),
        ("explore_symbol_usage", {"symbol": "Depot"}),
        ("map_module", {"path": "."}),
    ],
)
def test_every_fact_lies_in_a_range_that_its_result_produced(
    codebase: Codebase, name: str, arguments: dict[str, Any]
) -> None:
    result = call(codebase, name, **arguments)
    produced = {(made.file, made.start_line, made.end_line) for made in ranges_of(result)}
    found = facts_of(step_of(name), result)
    assert found
    assert {fact.place for fact in found} <= produced
    assert all(made.content_sha256 for made in ranges_of(result))
    assert all(fact.citation.quote in lines_of(fact) for fact in found)


any_fact = st.builds(
    CodeFact,
    kind=st.sampled_from(["definition", "caller", "code"]),
    citation=st.builds(cited, st.sampled_from(["a.py", "b.py"]), st.integers(1, 3)),
    name=st.sampled_from(["f", "g"]),
)


@given(st.lists(any_fact, max_size=12))
def test_of_facts_of_one_kind_at_one_place_the_first_is_kept(given_: list[CodeFact]) -> None:
    kept = distinct(given_)
    keys = [(fact.kind, fact.place) for fact in kept]
    assert len(set(keys)) == len(keys)
    assert set(keys) == {(fact.kind, fact.place) for fact in given_}
    assert distinct(kept) == kept
    for fact in kept:
        assert fact is next(f for f in given_ if (f.kind, f.place) == (fact.kind, fact.place))


@given(any_fact)
def test_a_fact_survives_the_wire(fact: CodeFact) -> None:
    assert msgspec.convert(msgspec.to_builtins(fact), CodeFact) == fact


def test_callers_of_another_definition_of_the_name_tell_its_file() -> None:
    rows = [{"citation": 0, "enclosing": "two", "line": 5, "of": "b.c"}]
    parts = {"definitions": [], "callers": [{"citation": 1, "enclosing": "one", "line": 3}], "others": rows}
    result = ToolResult("ok", {"symbol": "wake", **parts}, (cited("b.c", 5), cited("a.c", 3)))
    found = facts_of(step_of("explore_symbol_usage"), result)
    assert [(fact.kind, fact.name, fact.about) for fact in found] == [
        ("caller", "one", "wake"),
        ("caller", "two", "wake of b.c"),
    ]
