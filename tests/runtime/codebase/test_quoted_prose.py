"""Which sentences are quoted: those that stand by themselves, without the markup of their document."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.files.words import index_terms
from runtime.codebase.parsing.python_symbols import first_paragraph
from runtime.codebase.search.prose.markup import is_damaged, without_markup
from runtime.codebase.search.prose.sentence_context import MAX_DENIAL_WORDS, is_dependent, named_again, takes_back
from runtime.codebase.search.prose.sentences import best_quote, best_sentences, holds, split_sentences

OPTIONS = """
``--lookahead=INT``
    Sets how many further requests are read. A value of zero turns it off.

    When enabled this inserts a callable into the environment.

parcel_timeout
    Seconds that a lost parcel waits.
    A parcel is lost if no depot has it.

    Default: ``120``

retries
    How often a letter is tried again.

    Default: ``3``
""".strip().split("\n")


def weights(text: str) -> dict[str, float]:
    terms = index_terms(text).split()
    return {term: 1 / len(terms) for term in terms}


def of_document(lines: list[str], question: str) -> list[str]:
    found = best_sentences(lines, 1, weights(question))
    held = [holds(lines[said.start_line - 1 : said.end_line], said.text) for said in found]
    assert all(held), found
    return [said.text for said in found]


def of_code(lines: list[str], question: str) -> str | None:
    said = best_quote(lines, 1, weights(question), is_document=False)
    assert said is None or holds(lines[said.start_line - 1 : said.end_line], said.text)
    return None if said is None else said.text


@pytest.mark.parametrize(
    "opener",
    [
        "However, if it waits,",
        "Otherwise",
        "In this case",
        "Note that this means that",
        "It then asks, and",
        "This way",
        "When enabled this asks, and",
        "If set,",
        "Because of this",
        "But",
        "Doing so means that",
        "Setting it says that",
        "Unless it is found,",
    ],
)
def test_a_sentence_that_depends_on_the_one_before_is_quoted_with_it_or_not_at_all(opener: str) -> None:
    dependent = f"{opener} the lost parcel goes to the depot."
    assert of_document([f"A box was sent twice. {dependent}"], "lost parcel depot") == [
        "A box was sent twice.",
        dependent,
    ]
    assert of_document([dependent], "lost parcel depot") == []
    assert of_document([f"However, it waits. {dependent}"], "lost parcel depot") == []
    assert of_code(["x = 1", f"# A box was sent twice. {dependent}", "y = 2"], "lost parcel depot") == (
        f"A box was sent twice. {dependent}"
    )


@pytest.mark.parametrize("opener", ["However,", "Otherwise", "In this case", "Note that this means that", "Then"])
def test_a_comment_that_goes_on_with_nothing_is_not_quoted(opener: str) -> None:
    assert of_code([f"# {opener} the lost parcel goes to the depot.", "y = 2"], "lost parcel depot") is None


@pytest.mark.parametrize("opener", ["This", "It", "When set, it", "If true, this"])
def test_the_first_sentence_of_a_comment_may_refer_to_what_it_documents(opener: str) -> None:
    said = f"{opener} sends the lost parcel to the depot."
    assert of_code([f"# {said}", "send()"], "lost parcel depot") == said


@pytest.mark.parametrize(
    "text", ["Iteration stops at the depot.", "Thistles wait.", "There is a depot.", "Both-sided parcels wait."]
)
def test_a_word_that_begins_like_an_opener_is_none(text: str) -> None:
    assert not is_dependent(text, is_first=False)


def test_an_option_is_told_with_its_term_and_its_own_default() -> None:
    assert of_document(OPTIONS, "callable inserted environment")[0] == "``--lookahead=INT``"
    told = of_document(OPTIONS, "How many seconds does a lost parcel wait by default?")
    assert told == ["parcel_timeout Seconds that a lost parcel waits.", "Default: ``120``"]
    assert of_document(OPTIONS, "How often is a letter tried by default?")[-1] == "Default: ``3``"


def test_no_default_of_the_next_option_is_told() -> None:
    lines = [line for line in OPTIONS if line != "    Default: ``120``"]
    assert "Default: ``3``" not in of_document(lines, "How many seconds does a lost parcel wait by default?")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("#. A lost parcel waits.", "A lost parcel waits."),
        ("A :class:`~depot.Parcel` waits for :ref:`the depot <depots>`.", "A `Parcel` waits for the depot."),
        ("A `lost parcel <https://example.org>`_ waits [1]_ there.", "A lost parcel waits there."),
        (r"A lost \fIparcel\fR waits for I/O\-heavy depots.", "A lost parcel waits for I/O-heavy depots."),
        ("<p>A lost <code>parcel</code> waits.<br/>", "A lost parcel waits."),
        ("A {@link Depot#parcel lost parcel} waits in {@code depot}.", "A lost parcel waits in depot."),
        ("A parcel &lt;lost&gt; waits.", "A parcel <lost> waits."),
        ("A lost `<p>` parcel waits in ``:ref:`x```.", "A lost `<p>` parcel waits in ``:ref:`x```."),
        ("A lost parcel waits as follows::", "A lost parcel waits as follows:"),
    ],
)
def test_a_sentence_is_told_without_its_markup(line: str, told: str) -> None:
    assert [sentence.text for sentence in split_sentences([line], 1)] == [told]
    assert holds([line], told)


@pytest.mark.parametrize(
    "line",
    [
        "[![A lost parcel of the depot](https://example.org/x.svg)](https://example.org)",
        'A lost parcel <a href="x">waits in the depot',
        "A lost parcel (of the depot waits.",
        "A lost parcel `of the depot waits.",
        "A lost parcel |of| the depot waits.",
    ],
)
def test_a_sentence_that_is_cut_within_its_markup_is_not_quoted(line: str) -> None:
    assert is_damaged(without_markup(line))
    assert of_document([line], "lost parcel depot") == []
    assert of_code([f"// {line}", "x = 1"], "lost parcel depot") is None


def test_the_macros_of_a_manual_page_end_a_sentence_and_are_no_part_of_it() -> None:
    page = [
        "It fills the caches.",
        r".HP \fB\-m\fR, \fB\-\-min\-runs\fR \fINUM\fP",
        ".IP",
        r"Perform at least \fINUM\fP runs for each command.",
        "Default: 10.",
    ]
    assert of_document(page, "at least runs command default") == [
        "Perform at least NUM runs for each command.",
        "Default: 10.",
    ]


def test_hidden_comments_and_the_bodies_of_directives_are_no_prose() -> None:
    hidden = ["<!-- A lost parcel waits in the depot.", "Still the lost parcel. -->"]
    assert of_document(hidden, "lost parcel depot") == []
    shown = [".. code-block:: python", "", "    lost parcel depot = waits", "", "A lost parcel waits here."]
    assert of_document(shown, "lost parcel depot") == ["A lost parcel waits here."]


TEXT = st.text("ab `:<>[]{}()|*\\f-.~@_&;#", max_size=60) | st.sampled_from(
    [":ref:`a <b>`", "{@link a b}", "<p>", "&lt;", "`a <b>`_", r"\fBa\fR", "[1]_", "``a``", "::"]
)


# What stands before the end of a comment is hidden, and never quoted.
@given(st.lists(TEXT, max_size=6).map(" ".join).filter(lambda text: "-->" not in text))
def test_markup_is_stripped_at_once(text: str) -> None:
    line = f"A {text}"
    told = without_markup(line)
    assert len(told) <= len(line)
    assert holds([line], told)


@pytest.mark.parametrize("text", ["\\\n    Spawn workers.\n\n    More.", "\\\r\nSpawn workers.", "Spawn workers."])
def test_a_docstring_that_goes_on_in_the_next_line_is_told_without_its_backslash(text: str) -> None:
    assert first_paragraph(text) == "Spawn workers."
    assert without_markup(text.replace("More.", "")) == "Spawn workers."


@pytest.mark.parametrize(
    "denial",
    [
        "This depot does not.",
        "The depot never does.",
        "For the second depot, there is no such rule.",
        "That is not the case in winter.",
        "This does not apply to letters.",
    ],
)
def test_a_sentence_that_the_next_one_takes_back_is_quoted_with_it_or_not_at_all(denial: str) -> None:
    said = "Many depots keep a lost parcel for a year."
    assert of_document([f"{said} {denial}", "A letter waits."], "lost parcel year") == [said, denial]
    assert of_code([f"# {said} {denial}", "y = 2"], "lost parcel year") == f"{said} {denial}"
    hanging = f"But a lost parcel is kept for a year. {denial}"
    assert of_document([f"A box waits. {hanging}"], "kept for a year") != ["But a lost parcel is kept for a year."]


def test_a_sentence_that_a_later_one_takes_back_altogether_is_not_quoted() -> None:
    said = "A lost parcel is kept for a year. The depot has room. For letters, there is no such rule."
    assert of_document([said], "lost parcel year") != ["A lost parcel is kept for a year."]
    assert of_document([said.replace("no such", "a longer")], "lost parcel year") == [
        "A lost parcel is kept for a year."
    ]


@pytest.mark.parametrize("words", [MAX_DENIAL_WORDS - 1, MAX_DENIAL_WORDS, MAX_DENIAL_WORDS + 1])
def test_a_denial_in_few_words_speaks_of_what_was_said_before(words: int) -> None:
    text = " ".join(["Depots", *["really"] * (words - 3), "do", "not."])
    assert len(text.split()) == words
    assert takes_back(text) == (words <= MAX_DENIAL_WORDS)


@pytest.mark.parametrize("opener", ["However, it", "Unlike a letter, it", "But it", "It does not wait, as it"])
def test_what_limits_a_sentence_is_quoted_with_it(opener: str) -> None:
    said, limit = "A lost parcel goes to the depot.", f"{opener} waits in the hall at night."
    assert of_document([f"{said} {limit}"], "lost parcel depot") == [said, limit]


def test_a_sentence_that_takes_a_thing_for_known_is_quoted_with_the_one_that_names_it_or_not_at_all() -> None:
    said = "A lost parcel is not counted towards this limit."
    assert of_document([said], "lost parcel counted") == []
    assert of_document([f"A depot has a limit of ten. {said}"], "lost parcel counted") == [
        "A depot has a limit of ten.",
        said,
    ]
    assert said not in of_document([f"A depot has rooms. {said}"], "lost parcel counted")
    assert said not in of_document(["Like so::", "", "    limit = 10", "", said], "lost parcel counted")
    assert (
        of_document([f"It waits before this limit. This limit is of a lost parcel that is counted. {said}"], "counted")
        == []
    )


@pytest.mark.parametrize(
    ("text", "noun"),
    [
        ("It is sent before this timeout ends.", "timeout"),
        ("The limit is ten, and nothing counts towards this limit.", None),
        ("Letters are part of this library.", None),
        ("It was so until this version.", None),
        ("Because of this the parcel waits.", None),
        ("They go by these rules.", "rule"),
    ],
)
def test_what_a_sentence_takes_for_known_is_told_from_what_is_at_hand(text: str, noun: str | None) -> None:
    assert named_again(text) == noun
