"""Answers by yes or no: where a plain sentence or a proven value decides, and nowhere else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.capabilities.code_analysis.answers.by_aspect import answer
from actors.capabilities.code_analysis.answers.evidence import evidence_of
from actors.capabilities.code_analysis.answers.verdict import MAX_SENTENCE_WORDS, says, verdict_claims, with_verdicts
from actors.capabilities.code_analysis.evidence.claims import Claim
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.evidence.values import ValueNote
from actors.capabilities.code_analysis.question.analysis import analyse
from actors.capabilities.code_analysis.question.polar import MAX_CLAUSE_CHARS, PolarClause, polar_clause
from runtime.codebase.search.excerpts import Excerpt
from tests.capabilities.code_analysis.support import cited

EXPORT = "Can the results be exported as CSV?"
RETRY = "Does the server retry failed requests?"


def clause(text: str) -> PolarClause:
    read = polar_clause(text)
    assert read is not None
    return read


def passage(text: str, file: str = "README.md", kind: str = "document") -> CodeFact:
    return CodeFact("passage", cited(file, 3, 4), symbol_kind=kind, text=text, score=0.9, purpose="answer")


def switch(name: str, value: str | None, part: str, conditions: tuple[str, ...] = ()) -> CodeFact:
    at = cited("settings.py", 7, 7)
    note = ValueNote(part, name, "", "default", value, conditions, "", (at,), (f"{name} = {value}",))
    return CodeFact("value", at, name=name, value=note)


@pytest.mark.parametrize(
    ("asked", "sentence", "verdict"),
    [
        (EXPORT, "Export results to various formats: CSV, JSON, Markdown.", "Yes"),
        (EXPORT, "You can export the results as CSV.", "Yes"),
        (EXPORT, "The results cannot be exported as CSV.", "No"),
        (EXPORT, "Exporting results as CSV is not supported yet.", None),
        (EXPORT, "If you pass --csv, results are exported as CSV.", None),
        (EXPORT, "We plan to export the results as CSV.", None),
        (EXPORT, "Results can be exported as JSON.", None),
        (EXPORT, "Can results be exported as CSV?", None),
        (EXPORT, "The exporter writes results as CSV and exports them.", None),
        ("Can I delete the expired entries?", "A worker deletes expired entries.", None),
        ("Can I delete the expired entries?", "Expired entries can be deleted by the worker.", None),
        ("Can I delete the expired entries?", "Expired entries are deleted.", None),
        ("Can I delete the expired entries?", "Delete expired entries with `purge`.", "Yes"),
        ("Can I delete the expired entries?", "You cannot delete expired entries.", "No"),
        ("Is it possible to limit the number of runs?", "--max-runs limits the number of runs.", "Yes"),
        ("Is there an option to limit the number of runs?", "--max-runs limits the number of runs.", "Yes"),
        (RETRY, "The server retries failed requests.", "Yes"),
        (RETRY, "The server does not retry failed requests.", "No"),
        (RETRY, "The server doesn't retry failed requests.", "No"),
        (RETRY, "The server never retries failed requests.", "No"),
        (RETRY, "Failed requests make the server retry.", None),
        (RETRY, "The server can retry failed requests.", None),
        (RETRY, "The server retries failed requests only once.", None),
        (RETRY, "The server, which is not a proxy, retries failed requests.", None),
        (RETRY, "Not every server will not retry failed requests.", None),
        ("Does the cache drop old entries automatically?", "The cache drops old entries.", None),
        ("Does the cache drop old entries automatically?", "The cache drops old entries automatically.", "Yes"),
    ],
)
def test_a_sentence_decides_where_it_says_all_of_it_plainly(asked: str, sentence: str, verdict: str | None) -> None:
    assert says(clause(asked), sentence) == verdict


@pytest.mark.parametrize(
    "text",
    [
        "How are the results exported?",
        "Does it retry or give up?",
        "Does the server not retry?",
        "Can I change that?",
        "If the disk is full, does the program end?",
        "Can the server run without a worker?",
        "Exported results as CSV.",
        "",
        "Can I " + "run " * MAX_CLAUSE_CHARS + "?",
    ],
)
def test_what_is_not_asked_plainly_is_decided_by_nothing(text: str) -> None:
    assert polar_clause(text) is None


def test_only_what_is_asked_counts_and_not_what_is_told_ahead_of_it() -> None:
    assert clause(f"We run it every night. {EXPORT}") == clause(EXPORT)


@pytest.mark.parametrize("words", [MAX_SENTENCE_WORDS - 1, MAX_SENTENCE_WORDS, MAX_SENTENCE_WORDS + 1])
def test_a_long_sentence_decides_nothing(words: int) -> None:
    sentence = "Results can be exported as CSV" + " quickly" * (words - 6)
    assert says(clause(EXPORT), sentence) == ("Yes" if words <= MAX_SENTENCE_WORDS else None)


def test_two_words_are_too_few_to_find_in_a_sentence() -> None:
    assert verdict_claims([clause("Does the server retry?")], [passage("The server retries.")]) == []


def test_a_verdict_quotes_the_sentence_that_decides() -> None:
    (claim,) = verdict_claims([clause(EXPORT)], [passage("It is fast. The results can be exported as CSV.")])
    assert claim.text == "Yes, `README.md` says: «The results can be exported as CSV.»"
    assert claim.quotes == ("The results can be exported as CSV.",)
    assert claim.citations == (cited("README.md", 3, 4),)


@pytest.mark.parametrize(
    "other",
    [
        passage("The results can be exported as CSV.", "tests/test_export.py", "docstring"),
        passage("The results can be exported as CSV.", "vendor/lib/README.md"),
        passage("The results can be exported as CSV.", "export.py", "comment"),
        passage("The results can be exported as CSV.", "CHANGELOG.md", "changelog"),
    ],
)
def test_tests_comments_and_what_is_not_of_the_project_decide_nothing(other: CodeFact) -> None:
    assert verdict_claims([clause(EXPORT)], [other]) == []


def test_sentences_that_disagree_decide_nothing() -> None:
    facts = [passage("You can export the results as CSV."), passage("The results cannot be exported as CSV.", "b.md")]
    assert verdict_claims([clause(EXPORT)], facts) == []


@pytest.mark.parametrize(
    ("name", "value", "state", "verdict"),
    [
        ("compress", "True", "on", "Yes"),
        ("compress", "false", "on", "No"),
        ("compress", "False", "off", "Yes"),
        ("compress", "3", "on", ""),
        ("compress", None, "on", ""),
        ("disable_compress", "True", "on", ""),
    ],
)
def test_a_switch_decides_what_is_on_by_default(name: str, value: str | None, state: str, verdict: str) -> None:
    asked = f"Is compression {state} by default?"
    told = [Claim("value", "told", (cited("settings.py", 7, 7),), subject=name)]
    (claim,) = with_verdicts([clause(asked)], told, [switch(name, value, asked)])
    assert claim.text == (f"{verdict}: told" if verdict else "told")


def test_values_that_differ_or_hold_under_a_condition_decide_nothing() -> None:
    asked = "Is compression on by default?"
    told = [Claim("value", "told", (cited("settings.py", 7, 7),), subject="compress")]
    several = [switch("compress", "True", asked), switch("compress_logs", "False", asked)]
    assert with_verdicts([clause(asked)], told, several) == told
    assert with_verdicts([clause(asked)], told, [switch("compress", "True", asked, ("on_linux",))]) == told


def test_an_answer_begins_with_the_verdict_and_quotes_the_sentence_once() -> None:
    shown = Excerpt(1, 2, 1, 2, "def export_csv(results):\n    return rows", (2,), ("return rows",), 0.5)
    place = CodeFact(
        "definition",
        cited("export.py", 1, 2),
        name="export_csv",
        symbol_kind="function",
        score=1.0,
        excerpt=shown,
        purpose="answer",
    )
    said = "Export results to various formats: CSV, JSON, Markdown and HTML."
    claims = answer(evidence_of(analyse(EXPORT), [place, passage(said)]))
    assert [claim.role for claim in claims][:2] == ["value", "lead"]
    assert claims[0].text.startswith("Yes, ")
    assert [said in claim.text for claim in claims].count(True) == 1


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_is_read_without_an_error(asked: str, sentence: str) -> None:
    read = polar_clause(f"Can I {asked}?")
    assert read is None or says(read, sentence) in {"Yes", "No", None}
