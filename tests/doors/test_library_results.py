"""Answers of the library show themselves as text and as HTML; whatever a repository holds is only text there."""

from __future__ import annotations

from decimal import Decimal
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.errors import WireError
from serve.library.results import answer_in

HOSTILE = "<img src=x onerror=alert(1)>\x1b[2J\u202e\"'&<!--"


def document(**fields: Any) -> dict[str, Any]:
    given = {"run_id": "r-1", "question": "Where?", "repo": "/r", "answer": "Here.", "terminal_reason": "completed"}
    return {"schema_version": 1, "citations": [], **given, **fields}


def citation(file: str = "a.py", first: int = 3, last: int = 5, **fields: Any) -> dict[str, Any]:
    return {"file": file, "start_line": first, "end_line": last, "quote": "x = 1", "why": "sets it", **fields}


class Page(HTMLParser):
    """The elements, attributes and texts of some HTML; `marked`: the texts in marks."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.text = ""
        self.marked: list[str] = []
        self.comments = 0
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_comment(self, data: str) -> None:
        self.comments += 1

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.open[-1:] == ["mark"]:
            self.marked.append(data)


ALLOWED = {"div", "p", "strong", "small", "mark", "details", "summary", "ol", "li", "code", "pre"}


def page_of(answer: dict[str, Any]) -> Page:
    page = Page(answer_in(answer)._repr_html_())
    assert page.open == []
    assert page.tags <= ALLOWED
    assert page.attributes <= {"class", "style"}
    assert page.comments == 0
    return page


def test_a_notebook_shows_question_answer_and_citations() -> None:
    text = "It is set [a.py:3-5], used [b.py:7], and not [c.py:1]."
    page = page_of(document(answer=text, citations=[citation(), citation("b.py", 7, 7, symbol="B.use")]))
    assert page.marked == ["[a.py:3-5]", "[b.py:7]"]
    for told in ("Where?", text, "2 citations", "x = 1", "sets it", "B.use", "run r-1"):
        assert told in page.text


def test_marks_of_files_with_brackets_are_found() -> None:
    page = page_of(document(answer="See [app/[id]/page.tsx:3].", citations=[citation("app/[id]/page.tsx", 3, 3)]))
    assert page.marked == ["[app/[id]/page.tsx:3]"]


@pytest.mark.parametrize("field", ["question", "answer", "run_id"])
def test_no_field_of_an_answer_is_more_than_text(field: str) -> None:
    page = page_of(document(**{field: HOSTILE}))
    assert "<img src=x onerror=alert(1)>" in page.text
    assert "\x1b" not in page.text
    assert "\u202e" not in page.text


@pytest.mark.parametrize("field", ["file", "quote", "why", "symbol"])
def test_no_field_of_a_citation_is_more_than_text(field: str) -> None:
    page = page_of(document(citations=[{**citation(), field: HOSTILE}], answer=f"See [{HOSTILE}:3-5]."))
    assert "<img src=x onerror=alert(1)>" in page.text
    assert "\u202e" not in page.text


@settings(max_examples=25)
@given(st.text(), st.text())
def test_any_text_is_only_text(text: str, file: str) -> None:
    page_of(document(answer=f"{text}[{file}:3-5]{text}", question=text, citations=[citation(file, quote=text)]))


def test_as_text_hidden_characters_are_shown() -> None:
    answer = answer_in(document(answer="a\x1b[2Jb\n", citations=[citation("x\ny.py")]))
    assert str(answer) == "a\\x1b[2Jb\n"
    assert str(answer.citations[0]) == "x\\ny.py:3-5"


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"citations": [citation()]}, "answered"),
        ({}, "not_found"),
        ({"citations": [citation()], "status": "not_found"}, "not_found"),
        ({"terminal_reason": None}, "needs_answer"),
        ({"terminal_reason": "max_agent_hops_exceeded"}, "bound_reached"),
        ({"terminal_reason": "user_cancelled"}, "failed"),
    ],
)
def test_the_outcome_is_what_the_exit_status_of_ask_says(fields: dict[str, Any], outcome: str) -> None:
    assert answer_in(document(**fields)).outcome == outcome


def test_fields_of_newer_versions_stay_in_the_document() -> None:
    answer = answer_in(document(colour="red", citations=[citation(shade=3)]))
    assert answer.document["colour"] == "red"
    assert answer.document["citations"][0]["shade"] == 3


@pytest.mark.parametrize(
    "wrong", [{"answer": 3}, {"run_id": None}, {"citations": [{}]}, {"citations": 5}, {"usage": {"hops": "x"}}]
)
def test_what_is_no_answer_document_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(WireError):
        answer_in(document(**wrong))
    with pytest.raises(WireError):
        answer_in({name: value for name, value in document().items() if name not in wrong} | {"answer": None})


def test_costs_are_exact() -> None:
    answer = answer_in(document(usage={"cost": "0.100001"}))
    assert answer.usage.cost * 3 == Decimal("0.300003")
