"""A run as a page that stands alone: everything of the run is on it, and nothing in it is markup or loads anything."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from runtime.primitives.ids import RunId, StageName
from runtime.run.envelope import Bounds, Envelope, HistoryRecord, Request, Usage
from runtime.supervision.replay import Reason
from runtime.testing import PipelineBuilder
from serve.run_page import MAX_DECISIONS, MAX_STAGES, RunRecord, run_page
from tests.documentation.site import BROWSER
from tests.documentation.test_site import MUST_RUN, opened
from tests.doors.program import Program
from tests.doors.sample_repo import QUESTION

HOSTILE = '</pre></style><script>alert(1)</script><img src="http://x.org/a.png">&#8238;\u202e\x1b[2J`**[a.py:3]\n- x'
VOID = frozenset({"meta", "br", "img", "input", "link"})


class Page(HTMLParser):
    """The elements of a page with their attributes; `text`: all its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data if self.open[-1:] != ["style"] else ""


DOCUMENT: dict[str, Any] = {
    "question": "Where?",
    "answer": "Here.",
    "citations": [],
    "terminal_reason": "completed",
    "repo": "/r",
    "usage": {"duration_ms": 7},
    "reasoner": "rules",
}


RULES = PipelineBuilder("code_analysis").stage("look", default_next="tell").stage("tell").build()


def envelope_of(history: tuple[HistoryRecord, ...] = ()) -> Envelope:
    return Envelope(
        RunId("r-1"),
        Request("code_analysis", "Where?", "user:ann"),
        received_at_ms=1_000,
        bounds=Bounds(max_tool_calls=4, max_llm_calls=0),
        usage=Usage(tool_calls=3, agent_hops=21),
        history=history,
    )


def page_of(history: tuple[HistoryRecord, ...] = (), reasons: tuple[Reason, ...] = (), **fields: Any) -> Page:
    page = Page(run_page(RunRecord(envelope_of(history), DOCUMENT | fields, reasons, RULES)))
    assert page.open == []
    return page


def citation(file: str = "a.py", first: int = 3, last: int = 3, **fields: Any) -> dict[str, Any]:
    return {"file": file, "start_line": first, "end_line": last, "quote": "x = 1", **fields}


def record(hop: int, status: Any = "success", **fields: Any) -> HistoryRecord:
    return HistoryRecord(StageName("look"), hop, 1, 1_000 + hop, 1, status, **fields)


def test_a_citation_in_the_answer_leads_to_the_cited_code_beside_it() -> None:
    cited = [citation(), citation("a b.py", 1, 2, symbol="f", quote="def f():\n    pass")]
    page = page_of(answer="See `f` [a b.py:1-2] and **this** [a.py:3], not [c.py:1].", citations=cited)
    assert [told["href"] for tag, told in page.elements if tag == "a"] == ["#c2", "#c1"]
    assert {told.get("id") for tag, told in page.elements if tag == "li"} >= {"c1", "c2"}
    assert "def f():\n    pass" in page.text
    assert ("code", {}) in page.elements
    assert ("strong", {}) in page.elements


def test_whatever_a_run_holds_is_only_text() -> None:
    page = page_of(
        (record(1, "error", error=HOSTILE),),
        (Reason(1, 2, "x", None, HOSTILE, HOSTILE),),
        question=HOSTILE,
        answer=f"{HOSTILE}\n```\n{HOSTILE}\n```\n```\n{HOSTILE}",
        citations=[citation(HOSTILE, quote=HOSTILE, symbol=HOSTILE, why=HOSTILE)],
        repo=HOSTILE,
        commit=HOSTILE,
        terminal_detail=HOSTILE,
        interrupt={"question": HOSTILE},
    )
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "img", "iframe", "link", "form", "input", "object"}
    names = {name for _, told in page.elements for name in told}
    assert not [name for name in names if name.startswith("on") or name == "src"]
    assert all((told["href"] or "").startswith("#c") for tag, told in page.elements if "href" in told)
    assert not re.search("[\u202e\x1b]", page.text)
    assert "<script>alert(1)</script>" in page.text


def test_the_policy_of_the_page_forbids_scripts_and_whatever_is_loaded() -> None:
    (policy,) = [told["content"] for tag, told in page_of().elements if "http-equiv" in told]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_a_reader_comes_to_the_answer_first_then_to_bounds_stages_and_decisions() -> None:
    html = run_page(RunRecord(envelope_of((record(1),)), DOCUMENT | {"citations": [citation()]}, (), RULES))
    heads = re.findall(r"<h2>(\w+)</h2>", html)
    assert heads == ["Answer", "Cited", "Bounds", "Pipeline", "Stages", "Decisions"]
    # What keys reach: the cited code, then the tables and the picture, and none before the order of the page.
    reached = re.findall(r'tabindex="([^"]*)"(?: role="region" aria-label="([^"]*)")?', html)
    assert reached == [("0", ""), ("0", "Bounds"), ("0", "Picture of the pipeline"), ("0", "Stages")]


def test_bounds_are_shown_with_what_was_used_of_them_and_none_divides_by_nothing() -> None:
    page = page_of()
    meters = [(told["value"], told["max"]) for tag, told in page.elements if tag == "meter"]
    assert meters == [("21", "21"), ("0", "3"), ("3", "4")]
    assert "no limit" in page.text


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_long_run_is_cut_and_the_page_says_by_how_much(more: int) -> None:
    stages, decisions = MAX_STAGES + more, MAX_DECISIONS + more
    page = page_of(
        tuple(record(hop) for hop in range(stages)), tuple(Reason(n, n, "x", None, "a", "b") for n in range(decisions))
    )
    assert len([tag for tag, _ in page.elements if tag == "tr"]) == min(stages, MAX_STAGES) + 8
    assert ("1 earlier visits are not shown; jeeves runs log has all" in page.text) is (more == 1)
    assert ("1 more; jeeves runs why has all" in page.text) is (more == 1)


def test_a_run_of_ten_thousand_events_is_a_page_of_less_than_a_megabyte() -> None:
    history = tuple(record(hop, error="x" * 100) for hop in range(10_000))
    reasons = tuple(Reason(n, n, "x", None, "y" * 100, "z" * 100) for n in range(10_000))
    assert len(run_page(RunRecord(envelope_of(history), DOCUMENT, reasons, RULES))) < 1_000_000


def test_bars_of_stages_stay_within_the_time_of_the_run() -> None:
    early = HistoryRecord(StageName("look"), 1, 1, 0, 5_000, "success")
    bars = [told for tag, told in page_of((early, record(2))).elements if tag == "rect" and "class" in told]
    assert len(bars) == 2
    for bar in bars:
        start, width = (float(str(bar[name]).removesuffix("%")) for name in ("x", "width"))
        assert start >= 0
        assert width > 0
        assert start + width <= 100.01


@pytest.mark.long
def test_the_program_prints_the_page_of_a_recorded_run(jeeves: Program, repo: Path) -> None:
    run_id = jeeves.ask(QUESTION, repo).document["run_id"]
    page = Page(jeeves.run("runs", "show", run_id, "--html").answers().out)
    assert run_id in page.text
    assert "def deliver" in page.text
    assert "'perception' succeeded" in page.text
    jeeves.run("runs", "show", "c-1", "--html").complains(2, "c-1", "a session of a change")


@pytest.mark.long
@pytest.mark.skipif(not MUST_RUN and BROWSER is None, reason="there is no Chromium to open it: .ci/browser")
def test_a_browser_opens_the_page_without_a_fault_or_a_request(tmp_path: Path) -> None:
    cited = [citation(HOSTILE, quote=HOSTILE)]
    document = DOCUMENT | {"question": HOSTILE, "answer": f"{HOSTILE}\n[a.py:3]", "citations": cited}
    reasons, code = (Reason(1, 2, "x", None, HOSTILE, HOSTILE),), {"[a.py:3]": [(3, HOSTILE)]}
    page = run_page(RunRecord(envelope_of((record(1, error=HOSTILE),)), document, reasons, RULES, code))
    (tmp_path / "run.html").write_text(page, encoding="utf-8")
    assert opened(tmp_path / "run.html", tmp_path / "log.json") == ([], [])
