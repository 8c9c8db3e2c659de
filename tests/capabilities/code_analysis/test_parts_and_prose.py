"""Questions of several parts, documentation as prose, entries of lists: pure, with the words that once went wrong."""

from __future__ import annotations

import pytest

from actors.capabilities.code_analysis.answers.lists.listing import head_words, type_name
from actors.capabilities.code_analysis.answers.wording import excerpt
from actors.capabilities.code_analysis.evidence.call_flow import reached
from actors.capabilities.code_analysis.evidence.doc_text import readable
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.question.analysis import Question, analyse
from actors.capabilities.code_analysis.question.parts import parts_of
from actors.capabilities.code_analysis.ranking.extension_points import extension_bonus
from runtime.codebase.parsing.definition_heads import doc_comment
from tests.capabilities.code_analysis.support import cited


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("How does `send` work and what tests cover it?", ("How does `send` work", "what tests cover it?")),
        ("What is it, where is it and who uses it?", ("What is it", "where is it", "who uses it?")),
        ("How are errors and warnings told apart?", ("How are errors and warnings told apart?",)),
        ("Requests come in and how are they read?", ("Requests come in and how are they read?",)),
        ("", ("",)),
    ],
)
def test_a_question_has_as_many_parts_as_it_asks_things(text: str, parts: tuple[str, ...]) -> None:
    assert parts_of(text) == parts


def test_the_first_part_says_what_kind_it_is_and_the_others_ask_for_more() -> None:
    asked = analyse("How does `send` work, who calls it and which tests cover it?")
    assert (asked.kind, asked.further) == ("how", ("who_calls", "tested"))
    assert asked.aspects == ("definition", "mechanism", "usage", "tests")
    assert asked.terms == ("send",)
    assert asked.topic == "How does `send` work"
    assert asked.asks_for_tests
    assert not analyse("How does `send` work, who calls it and why?").asks_for_tests


def test_a_part_that_names_something_stays_in_the_search() -> None:
    asked = analyse("Where are jobs read and what happens when the queue is full?")
    assert {"queu", "full"} <= set(asked.terms)
    assert asked.core == ""


@pytest.mark.parametrize("name", ["route!", "empty?", "Depot::open", "$parcel", "Depot#send", "this->send"])
def test_names_of_other_languages_are_names(name: str) -> None:
    assert analyse(f"Where is `{name}` used?").identifiers == (name,)


@pytest.mark.parametrize(
    ("text", "deed", "subject"),
    [
        ("How do I add a new sink?", ("add",), "sink"),
        ("How can I register my own parcel type?", ("regist",), "parcel type"),
        ("How do I extend `Depot`?", ("extend",), "`Depot`"),
    ],
)
def test_what_is_done_is_told_from_what_it_is_done_to(text: str, deed: tuple[str, ...], subject: str) -> None:
    asked = analyse(text)
    assert asked.kind == "extend"
    assert (asked.deed_terms, asked.subject) == (deed, subject)


@pytest.mark.parametrize(
    "text", ["Show the call chain of Serve", "Draw the flow of `serve`", "Trace `serve`", "Show the flow of serve"]
)
def test_who_asks_for_a_flow_asks_for_what_happens(text: str) -> None:
    assert analyse(text).kind == "what_happens"
    assert analyse(text).shows_flow


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (
            '<summary> Makes <see cref="T:Post.Parcel"/>s. </summary> <param name="n">How many.</param>',
            "Makes Parcels.",
        ),
        (
            "Reads a {@linkplain Reader reader} or {@link Depot#open} of {@code x}.",
            "Reads a reader or Depot.open of x.",
        ),
        ('Follows <a href="https://x">the norm</a> &lt;b&gt;.', "Follows the norm <b>."),
        ("Returns a List<String> where a < b", "Returns a List<String> where a < b"),
        ("", ""),
    ],
)
def test_documentation_is_read_without_its_mark_up(written: str, read: str) -> None:
    assert readable(written) == read


def test_a_directive_above_a_function_is_no_documentation() -> None:
    assert doc_comment(["#ifdef HAVE_IT", "int f() {"], 2) == ""
    assert doc_comment(["# Reads it.", "f() {"], 2) == "Reads it."
    assert doc_comment(["// Reads it.", "#if HAVE_IT", "int f() {"], 3) == ""


def test_an_excerpt_begins_behind_the_comment_at_the_head() -> None:
    lines = ["/// Opens the depot door.", "/// The door of the depot.", "pub fn open() {", "    depot.door()", "}"]
    assert excerpt(lines, ("door",)) == (2, 5)
    assert excerpt(["// only", "// words"], ("word",)) == (0, 2)


@pytest.mark.parametrize(
    ("text", "words", "name"),
    [
        ("List all type adapters", ("type", "adapters"), "TypeAdapter"),
        ("Which classes of errors are there?", ("classes",), "Class"),
        ("List all parcel policies in the depot", ("parcel", "policies"), "ParcelPolicy"),
        ("What commands exist?", ("commands",), "Command"),
        ("List all", (), ""),
    ],
)
def test_a_list_knows_what_it_is_a_list_of(text: str, words: tuple[str, ...], name: str) -> None:
    asked = Question(text=text, kind="list_all", subject=text)
    assert head_words(asked) == words
    assert type_name(asked) == name


def test_open_types_and_doers_of_the_very_deed_gain_as_what_is_extended() -> None:
    asked = (("add",), ("log", "sink"))
    assert extension_bonus("ILogSink", "interface", "", "", *asked) > extension_bonus(
        "IWideLogSink", "interface", "", "", *asked
    )
    assert extension_bonus("IWideLogSink", "interface", "", "", *asked) > 0
    assert extension_bonus("Shop.add_sink", "method", "", "", *asked) > 0
    assert extension_bonus("Shop.add_sink_if_absent", "method", "", "", *asked) == 0
    assert extension_bonus("LogSink", "class", "class LogSink", "", *asked) == 0
    assert extension_bonus("LogSink", "class", "class LogSink", "Base class of sinks.", *asked) > 0
    assert extension_bonus("LogSink", "class", "class LogSink", "What other sinks should extend.", *asked) > 0
    assert extension_bonus("LogSink", "class", "class LogSink", "A sink of class.", *asked) == 0
    assert extension_bonus("LogSinkUri", "interface", "", "", *asked) == 0
    assert extension_bonus("LogSink", "interface", "", "", ("add",), ()) == 0


def test_calls_that_nothing_shown_leads_to_are_left_out() -> None:
    traced = [
        CodeFact("trace", cited("a.py", n), name=name, about=about)
        for n, (about, name) in enumerate(
            [("Shop.serve", "get"), ("Shop.serve", "weigh"), ("get", "open_door"), ("weigh", "Scale.read_off")], 1
        )
    ]
    assert [fact.name for fact in reached(traced, ["Shop.serve"])] == ["weigh", "Scale.read_off"]
