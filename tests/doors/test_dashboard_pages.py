"""The pages of the dashboard: what they show, what their forms do, and what their streams send."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from html import unescape
from pathlib import Path
from typing import Any

import msgspec
import pytest

from runtime.llm.call_metrics import ModelStats
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import RunId, StageName
from runtime.primitives.visible_text import visible
from runtime.run.envelope import Bounds, Envelope, HistoryRecord, Interrupt, Request, Usage
from runtime.store.run_records import RunSummary
from runtime.supervision.replay import Reason
from runtime.testing import PipelineBuilder
from runtime.tools.tool_host import CountedCall
from serve.asked_runs import shortened
from serve.http.connections.event_stream import SIGN_OF_LIFE, stream
from serve.http.dashboard.addresses import ASK, ASSETS, DASHBOARD, OPEN, SYSTEM, run_address
from serve.http.dashboard.live_routes import ShownRows
from serve.http.dashboard.page_frame import Frame
from serve.http.dashboard.run_list_page import list_digest, run_table
from serve.http.dashboard.run_question import (
    MAX_SENT_BYTES,
    MAX_TEXT_CHARS,
    as_reviewed,
    changed_texts,
    question_section,
    reviewed_texts,
)
from serve.http.dashboard.run_rows import Row, Wanted
from serve.http.dashboard.run_view_page import DECISIONS, MAX_STAGES, RunView, decisions_content, run_content, run_parts
from serve.http.dashboard.system_page import SystemView, system_parts
from serve.pipeline_picture import picture_of, pipeline_svg
from serve.run_fragments import span
from tests.doors.dashboard_forms import Visitor, text_of
from tests.doors.http_site import REPO, Site, open_site, until
from tests.doors.test_run_page import DOCUMENT, HOSTILE, Page, citation

FRAME = Frame("token:ann", ("ask", "watch"), True, "f" * 64)
RULES: PipelineConfig = (
    PipelineBuilder("looped")
    .stage("look", default_next="judge")
    .stage("judge", default_next="tell")
    .rule("route", "again", "look")
    .stage("tell")
    .build()
)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    async with open_site(tmp_path) as opened:
        yield opened


@pytest.fixture
def visitor(site: Site) -> Visitor:
    return Visitor(site)


def envelope_of(**fields: Any) -> Envelope:
    told: dict[str, Any] = {
        "run_id": RunId("r-1"),
        "request": Request("looped", "Where?", "token:ann"),
        "lifecycle": "running",
    }
    return Envelope(**(told | fields))


def view_of(envelope: Envelope, **fields: Any) -> RunView:
    return RunView(envelope, DOCUMENT | fields, RULES, True, 5_000)


async def test_a_question_leads_to_the_page_of_its_run_with_the_answer_beside_the_code(visitor: Visitor) -> None:
    run_id = await visitor.ask("Where? cite")
    await until(lambda: not visitor.site.log.unfinished())
    page = Page((await visitor.read(run_address(run_id))).body.decode())
    assert ("a", {"href": "#c1"}) in page.elements
    assert "Answer to Where? cite" in page.text
    assert "completed" in page.text
    assert run_id in (await visitor.read()).body.decode()


async def test_a_form_that_is_sent_twice_is_one_question(visitor: Visitor) -> None:
    assert await visitor.ask("Where?", key="k") == await visitor.ask("Where?", key="k")
    assert await visitor.ask("Where?", key="k") != await visitor.ask("Where else?", key="k")
    assert len(visitor.site.log.runs(9)) == 2


async def test_a_run_is_paused_resumed_and_cancelled(visitor: Visitor) -> None:
    run_id = RunId(await visitor.ask("hold this"))
    await until(lambda: visitor.site.hosted.runner.envelope(run_id).lifecycle == "running")
    for action, said in (("pause", "paused"), ("resume", "running"), ("cancel", "user cancelled")):
        reply = await visitor.act(run_address(run_id, action), {"reason": "since"})
        assert (reply.status, reply.headers["location"]) == (303, run_address(run_id))
        assert said in text_of(await visitor.read(run_address(run_id)))
    reply = await visitor.act(run_address(run_id, "cancel"))
    assert (reply.status, "The run has moved on" in text_of(reply)) == (409, True)
    assert run_address(run_id) in reply.body.decode()


async def test_the_question_of_a_run_is_answered_on_its_page(visitor: Visitor) -> None:
    run_id = RunId(await visitor.ask("why this"))
    await until(lambda: visitor.site.hosted.runner.envelope(run_id).lifecycle == "waiting")
    page = (await visitor.read(run_address(run_id))).body.decode()
    interrupt = re.search(r'name="interrupt" value="([^"]+)"', page)
    assert interrupt is not None
    address, fields = run_address(run_id, "answer"), {"interrupt": interrupt[1]}
    assert (await visitor.act(address, fields | {"text": " "})).status == 422
    assert (await visitor.act(address, {"interrupt": "i-other", "text": "that"})).status == 409
    assert (await visitor.act(address, fields | {"text": "that one"})).status == 303
    await until(lambda: not visitor.site.log.unfinished())
    assert "completed" in text_of(await visitor.read(run_address(run_id)))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"question": " "}, "empty"),
        ({"question": "x", "repo": "/etc"}, "a name and no path"),
        ({"question": "x", "pipeline": "other"}, "no pipeline is named"),
        ({"question": "x" * 1_001}, "at most 1000"),
    ],
)
async def test_a_question_that_cannot_be_asked_is_refused_on_a_page(
    visitor: Visitor, fields: dict[str, str], said: str
) -> None:
    reply = await visitor.act(ASK, fields)
    assert reply.status in (404, 422)
    assert said in text_of(reply)


async def test_decisions_tell_why(visitor: Visitor) -> None:
    run_id = await visitor.ask("Where?")
    await until(lambda: not visitor.site.log.unfinished())
    assert "no rule matched, so its default is 'integration'" in text_of(
        await visitor.read(run_address(run_id, "decisions"))
    )


async def test_a_run_is_opened_by_its_id(visitor: Visitor) -> None:
    run_id = await visitor.ask("Where?")
    assert (await visitor.read(f"{OPEN}?run=+{run_id}")).headers["location"] == run_address(run_id)
    for missing in ("nope", "%3Cb%3E", "..%2F..", ""):
        assert (await visitor.read(f"{OPEN}?run={missing}")).status == 404


async def test_the_page_of_the_system_shows_queues_breakers_bounds_and_tools(visitor: Visitor) -> None:
    now_ms = SystemClock().now_ms()
    visitor.site.tool_metrics.record(REPO, [CountedCall("read", "error", 9, now_ms, True)] * 12)
    visitor.site.places = {"small": (2, 3, 1)}
    text = text_of(await visitor.read(SYSTEM))
    for words in ("unhealthy", "degraded", "calls of model small, 1 more wait", "parked frames", "questions"):
        assert words in text


def test_long_names_of_the_system_go_on_in_the_next_line_and_are_only_text() -> None:
    health: dict[str, Any] = {
        "status": "healthy",
        "parts": {},
        "breakers": {"query": {"index.</td><b>": "open"}},
        "bounds": {name: {"used": 0, "of": 1} for name in ("questions", "event_streams")} | {"runs_under_way": 0},
        "queues": {"models": {}, "parked_frames": 0, "dead_letters": 0, "queries_under_way": 0},
        "agents": {"agent:code_analysis.critic": "connected"},
    }
    parts = system_parts(SystemView(health, [], {}, ModelStats()))
    assert "<bdi>agent:<wbr>code_<wbr>analysis.<wbr>critic</bdi>" in parts["system-agents"]
    assert "<bdi>index.&lt;/<wbr>td&gt;&lt;b&gt;</bdi>" in parts["system-breakers"]
    assert '<th scope="col" class="number">used</th>' in parts["system-queues"]


async def test_a_system_whose_parts_do_not_answer_is_shown_as_such(visitor: Visitor) -> None:
    visitor.site.is_dead = True
    assert "the supervisor is gone" in text_of(await visitor.read(SYSTEM))
    assert "the supervisor is gone" in text_of(await visitor.read())


@pytest.mark.parametrize(
    "path", [f"{DASHBOARD}/", f"{DASHBOARD}/runs/%3Cscript%3E", f"{ASSETS}/x.js", f"{DASHBOARD}?x=1"]
)
async def test_what_is_not_there_is_a_safe_page(visitor: Visitor, path: str) -> None:
    reply = await visitor.read(f"{DASHBOARD}{path}")
    assert reply.status in (404, 422)
    assert "<script>" not in reply.body.decode()
    assert "default-src 'none'" in reply.headers["content-security-policy"]


async def test_style_and_script_may_be_kept_for_ever(visitor: Visitor) -> None:
    page = (await visitor.read()).body.decode()
    found = re.findall(rf'"({ASSETS}/[^"]+)"', page)
    assert len(found) == 3
    for address in found:
        reply = await visitor.read(address)
        assert (reply.status, "immutable" in reply.headers["cache-control"]) == (200, True)


async def test_the_dashboard_is_no_part_of_the_openapi_document(visitor: Visitor) -> None:
    assert "dashboard" not in (await visitor.read("/openapi.json")).body.decode()


async def test_a_list_is_filtered_and_paged(visitor: Visitor) -> None:
    runs = [await visitor.ask(f"question {number}") for number in range(3)]
    await until(lambda: not visitor.site.log.unfinished())
    held = await visitor.ask("hold this")
    ended = (await visitor.read(f"{DASHBOARD}?state=ended")).body.decode()
    assert (f"row-{held}" in ended, all(f"row-{run}" in ended for run in runs)) == (False, True)
    opened = (await visitor.read(f"{DASHBOARD}?state=open")).body.decode()
    assert (f"row-{held}" in opened, any(f"row-{run}" in opened for run in runs)) == (True, False)
    seen, address = [], f"{DASHBOARD}?limit=2&state=ended"
    for _ in range(2):
        page = (await visitor.read(address)).body.decode()
        seen += re.findall(r'id="row-([^"]+)"', page)
        following = re.search(r'rel="next" href="([^"]+)"', page)
        address = "" if following is None else following[1].replace("&amp;", "&")
    assert sorted(seen) == sorted(runs)


async def events_of(visitor: Visitor, path: str) -> list[tuple[str, Any]]:
    reply = await visitor.read(path, Accept="text/event-stream")
    found = re.findall(r"event: (\w+)\ndata: (.*)\n", reply.body.decode().replace("\r\n", "\n"))
    return [(name, json.loads(data)) for name, data in found]


async def test_the_stream_of_a_run_sends_its_parts_and_ends_with_it(visitor: Visitor) -> None:
    run_id = await visitor.ask("hold this")
    streaming = asyncio.create_task(events_of(visitor, run_address(run_id, "live")))
    await until(lambda: visitor.site.service.bounds["event_streams"]["used"])
    visitor.site.hold.set()
    events = await streaming
    assert events[-1] == ("over", {})
    parts = [told["id"] for name, told in events if name == "put"]
    assert {"run-state", "run-picture", "run-answer", "run-stages"} <= set(parts)
    assert "completed" in next(told["html"] for name, told in reversed(events) if told.get("id") == "run-state")


async def test_a_stream_of_an_unknown_run_is_refused_before_it_begins(visitor: Visitor) -> None:
    (await visitor.read(run_address("nope", "live"))).is_problem(404, "unknown_name")
    assert visitor.site.service.bounds["event_streams"]["used"] == 0


def row(name: str, question: str = "q", finished: bool = False) -> Row:
    return Row(RunSummary(RunId(name), "p", 1_000, 1, finished, 2_000, "token:ann"), question)


def changes(shown: ShownRows, *rows: Row) -> list[str]:
    return [line.split("\n")[0].removeprefix("event: ") for line in shown.changed(list(rows))]


def test_a_list_is_replaced_row_by_row_where_it_only_grew() -> None:
    shown = ShownRows(Wanted(limit=3))
    assert changes(shown, row("a")) == ["put"]
    assert changes(shown, row("a")) == []
    assert changes(shown, row("b"), row("a")) == ["first"]
    assert changes(shown, row("c"), row("b", finished=True), row("a")) == ["first", "put", "row"]
    assert changes(shown, row("d"), row("c"), row("b", finished=True)) == ["first", "put"]
    assert changes(shown, row("d"), row("b", finished=True)) == ["put"]
    assert changes(shown) == ["put"]


@pytest.mark.parametrize(
    ("before", "after"),
    [("abc", "dab"), ("abc", "deab"), ("abc", "de"), ("abc", "d"), ("ab", "cb"), ("abcde", "fabcd"), ("ab", "cab")],
)
def test_no_run_stays_in_a_list_that_it_has_left(before: str, after: str) -> None:
    limit = 5
    shown = ShownRows(Wanted(limit=limit))
    shown.changed([row(name) for name in before])
    page = list(before)
    for told in shown.changed([row(name) for name in after]):
        name, data = told.split("\n")[0].removeprefix("event: "), json.loads(told.split("data: ")[1])
        ids = re.findall(r'<tr id="row-(\w)"', data["html"])
        if name == "first":
            page = [*ids, *page][:limit]
        elif name == "put" and data["id"] == "list":
            page = ids
    assert page == list(after)


def test_a_page_is_not_sent_the_list_that_it_was_loaded_with() -> None:
    wanted, rows = Wanted(limit=3), [row("b"), row("a")]
    known = list_digest(run_table(rows, wanted))
    shown = ShownRows(wanted, known)
    assert changes(shown, *rows) == []
    assert changes(shown, row("c"), *rows) == ["first", "put"]
    assert changes(ShownRows(wanted, known), row("c"), *rows) == ["put"]


def test_the_picture_tells_stages_and_the_ways_that_were_taken() -> None:
    history = tuple(HistoryRecord(StageName(name), 1, 1, 0, 40, "success") for name in ("look", "judge", "look"))
    usage = Usage(edges={"look->judge": 2, "judge->look": 1, "gone->look": 3})
    stages: Any = {"look": "success", "judge": "active"}
    picture = picture_of(RULES, envelope_of(history=history, usage=usage, stages=stages))
    assert [(stage.name, stage.status, stage.visits, stage.duration_ms) for stage in picture.stages] == [
        ("look", "success", 2, 80),
        ("judge", "active", 1, 40),
        ("tell", "", 0, 0),
    ]
    assert {(way.source, way.target): way.taken for way in picture.ways} == {(0, 1): 2, (1, 0): 1, (1, 2): 0}
    page = Page(pipeline_svg(picture))
    assert not page.open
    assert [told["aria-label"] for tag, told in page.elements if told.get("role") == "img"] == [
        "Pipeline. look: done; judge: running; tell: not reached"
    ] * 2


def test_whatever_a_run_holds_is_only_text_on_its_page() -> None:
    request = Request("looped", HOSTILE, HOSTILE)
    interrupt = Interrupt("i-1", "agent_review", HOSTILE, message=HOSTILE, data={HOSTILE: HOSTILE})
    envelope = envelope_of(
        run_id=RunId(HOSTILE), request=request, lifecycle="waiting", interrupt=interrupt, stages={"look": HOSTILE}
    )
    view = view_of(
        envelope,
        question=HOSTILE,
        answer=HOSTILE,
        repo=HOSTILE,
        commit=HOSTILE,
        terminal_detail=HOSTILE,
        citations=[citation(HOSTILE, quote=HOSTILE, symbol=HOSTILE, why=HOSTILE)],
    )
    decided = decisions_content(HOSTILE, HOSTILE, [Reason(1, 2, "x", None, HOSTILE, HOSTILE)], 0)
    for content in (run_content(view, run_parts(view, FRAME)), decided):
        page = Page(content)
        assert not {tag for tag, _ in page.elements} & {"script", "img", "iframe", "link", "object", "style"}
        names = {name for _, told in page.elements for name in told}
        assert not [name for name in names if name.startswith("on") or name in ("src", "style")]
        targets = [told.get("href") or told.get("action") or "" for _, told in page.elements]
        assert all(target.startswith((f"{DASHBOARD}", "#c")) for target in targets if target)
        assert not re.search("[\u202e\x1b]", page.text)


async def test_a_review_shows_the_text_that_is_to_go_out_and_takes_it_as_changed(visitor: Visitor) -> None:
    run = await visitor.ask("review this")
    await until(lambda: visitor.site.hosted.runner.envelope(RunId(run)).lifecycle == "waiting")
    page = Page((await visitor.read(run_address(run))).body.decode())
    assert "See [a b.py:3-4]." in page.text
    assert "x = 1" in page.text
    assert '"marks"' in page.text
    interrupt = visitor.site.hosted.runner.envelope(RunId(run)).interrupt
    assert interrupt is not None
    changed = {
        "interrupt": interrupt.id,
        "decision": "modify",
        "data.final_response": "Mine.\r\nTwo lines.",
        "text": "ok",
    }
    assert (await visitor.act(run_address(run, "answer"), changed)).status == 303
    await until(lambda: visitor.site.hosted.runner.envelope(RunId(run)).lifecycle == "terminated")
    told = visitor.site.hosted.runner.envelope(RunId(run)).outputs["look"]
    assert told == {"decision": "modify", "data": {"final_response": "Mine.\nTwo lines."}, "text": "ok"}


@pytest.mark.parametrize("decision", ["approve", "reject"])
async def test_a_changed_text_is_never_dropped_without_a_word(visitor: Visitor, decision: str) -> None:
    run = RunId(await visitor.ask("review this"))
    runner = visitor.site.hosted.runner
    await until(lambda: runner.envelope(run).lifecycle == "waiting")
    interrupt = runner.envelope(run).interrupt
    assert interrupt is not None
    fields = {"interrupt": interrupt.id, "decision": decision}
    changed = await visitor.act(run_address(run, "answer"), fields | {"data.final_response": "Mine."})
    assert changed.status == 422
    assert "final_response was changed" in text_of(changed)
    assert runner.envelope(run).lifecycle == "waiting"
    text = interrupt.data["final_response"].replace("\n", "\r\n")
    assert (await visitor.act(run_address(run, "answer"), fields | {"data.final_response": text})).status == 303
    await until(lambda: runner.envelope(run).lifecycle == "terminated")
    assert runner.envelope(run).terminal_reason == ("completed" if decision == "approve" else "denied_by_policy")
    assert runner.envelope(run).outputs["look"].get("data", {}) == {}


def test_the_text_of_a_form_is_the_text_that_is_reviewed() -> None:
    text = "\n\tif x:\n\t\treturn **kwargs & <b>\n"
    interrupt = Interrupt("i-1", "agent_review", "May it?", data={"final_response": text})
    form = question_section(envelope_of(lifecycle="waiting", interrupt=interrupt), {}, FRAME, may_answer=True)
    area = re.search(r"<textarea id=\"asks-text-0\"[^>]*>\n(.*?)</textarea>", form, re.S)
    assert area is not None
    assert unescape(area[1]) == text
    assert changed_texts(interrupt, {"final_response": text}) == {}
    given = {"final_response": f"{text}x", "more": "y"}
    assert changed_texts(interrupt, given) == given


def test_lines_that_nobody_touched_go_out_with_their_hidden_characters() -> None:
    text = "See [a\u202eb.py:3].\n\x1b[2J end\nLast."
    interrupt = Interrupt("i-1", "agent_review", "May it?", data={"final_response": text})
    shown = visible(text)
    assert "\u202e" not in shown
    changed = as_reviewed(interrupt, {"final_response": f"{shown}\nMore \\u202e."})
    assert changed == {"final_response": f"{text}\nMore \\u202e."}


@pytest.mark.parametrize(("letters", "is_offered"), [("x", True), ("\N{ROCKET}", False)])
def test_a_text_that_no_request_could_carry_is_not_offered_for_change(letters: str, is_offered: bool) -> None:
    interrupt = Interrupt("i-1", "agent_review", "May it?", data={"final_response": letters * MAX_TEXT_CHARS})
    assert bool(reviewed_texts(interrupt)) == is_offered
    few = Interrupt("i-1", "agent_review", "May it?", data={"final_response": "\N{ROCKET}" * (MAX_SENT_BYTES // 12)})
    assert reviewed_texts(few)


@pytest.mark.parametrize(
    ("chars", "is_offered"), [(MAX_TEXT_CHARS - 1, True), (MAX_TEXT_CHARS, True), (MAX_TEXT_CHARS + 1, False)]
)
def test_a_text_too_long_for_a_form_is_cut_said_to_be_and_approved_or_rejected_alone(
    chars: int, is_offered: bool
) -> None:
    interrupt = Interrupt("i-1", "agent_review", "May it?", data={"final_response": "x" * chars})
    envelope = envelope_of(lifecycle="waiting", interrupt=interrupt)
    form = question_section(envelope, {}, FRAME, may_answer=True)
    assert ("Approve as changed" in form) == is_offered
    assert ('<textarea id="asks-text-0"' in form) == is_offered
    assert ("characters are shown" in form) != is_offered
    assert "Reject" in form


@pytest.mark.parametrize(("deadline_ms", "until"), [(59_999, 59), (60_000, 60), (60_001, 60), (None, 60)])
def test_a_question_stands_until_it_expires_or_the_run_must_end(deadline_ms: int | None, until: int) -> None:
    interrupt = Interrupt("i-1", "clarification", "Which?", expires_at_ms=60_000)
    envelope = envelope_of(lifecycle="waiting", interrupt=interrupt, bounds=Bounds(deadline_ms=deadline_ms))
    shown = question_section(envelope, {}, FRAME, may_answer=True)
    assert f'Until <time datetime="1970-01-01T00:0{until // 60}:{until % 60:02}Z">' in shown


async def test_the_page_of_a_run_names_its_session_and_its_time(visitor: Visitor) -> None:
    run = await visitor.ask("Where?", session="tour")
    await until(lambda: visitor.site.hosted.runner.envelope(RunId(run)).lifecycle == "terminated")
    page = Page((await visitor.read(run_address(run))).body.decode())
    assert re.search(r"Session\s*tour", page.text)
    parts = run_parts(view_of(envelope_of(received_at_ms=1_000, bounds=Bounds(deadline_ms=61_000))), FRAME)
    assert re.search(r"<td>seconds</td><td class=\"number\">4</td><td class=\"number\">60</td>", parts["run-bounds"])


@pytest.mark.parametrize(("lifecycle", "words"), [("waiting", "waits for an answer"), ("terminated", "cancelled")])
def test_in_a_run_that_is_over_no_stage_waits(lifecycle: Any, words: str) -> None:
    stages: Any = {"look": "asking", "judge": "active"}
    told = pipeline_svg(picture_of(RULES, envelope_of(stages=stages, lifecycle=lifecycle)))
    assert f"look: {words}" in told
    assert ("running" in told) == (lifecycle == "waiting")


def test_a_screen_reader_is_told_of_the_state_and_of_nothing_that_changes_all_the_time() -> None:
    stages: Any = {"look": "success", "judge": "active"}
    parts = run_parts(view_of(envelope_of(stages=stages)), FRAME)
    assert parts["run-said"] == run_parts(view_of(envelope_of(stages=stages))._replace(now_ms=9_000), FRAME)["run-said"]
    regions = [told for _, told in Page(run_content(view_of(envelope_of()), parts)).elements if "aria-live" in told]
    assert [told["id"] for told in regions] == ["run-said"]
    assert parts["run-said"] == "The run: running, judge"


def test_a_run_of_ten_thousand_visits_has_a_small_page_with_the_newest() -> None:
    history = tuple(HistoryRecord(StageName("look"), hop, 1, hop, 1, "success") for hop in range(10_000))
    view = view_of(envelope_of(history=history, bounds=Bounds(max_agent_hops=10_000)))
    content = run_content(view, run_parts(view, FRAME))
    assert len(content) < 100_000
    assert f"{10_000 - MAX_STAGES} earlier visits are not shown" in content
    assert ">9999</td>" in content


@pytest.mark.parametrize("count", [0, DECISIONS - 1, DECISIONS, DECISIONS + 1])
def test_decisions_are_paged(count: int) -> None:
    reasons = [Reason(number, 1, "x", None, "what", "why") for number in range(count)]
    content = decisions_content("r-1", "Where?", reasons, 0)
    assert content.count("<li ") == min(count, DECISIONS)
    assert ("Later" in content) is (count > DECISIONS)
    assert "Earlier" in decisions_content("r-1", "Where?", reasons, DECISIONS)


@pytest.mark.parametrize(
    ("duration_ms", "said"),
    [
        (-5, "0 ms"),
        (999, "999 ms"),
        (1_000, "1.0 s"),
        (59_900, "59.9 s"),
        (60_000, "1 min 0 s"),
        (3_600_000, "1 h 0 min"),
        (48 * 3_600_000, "2 d 0 h"),
    ],
)
def test_durations_have_two_units_at_most(duration_ms: int, said: str) -> None:
    assert span(duration_ms) == said


@pytest.mark.parametrize(("length", "said"), [(299, 299), (300, 300), (301, 300)])
def test_a_long_question_is_shortened(length: int, said: int) -> None:
    assert len(shortened("x" * length)) == said


def test_a_view_travels_without_its_rules() -> None:
    view = view_of(envelope_of(terminal_reason="completed", lifecycle="terminated"))._replace(rules=None)
    parts = run_parts(view, FRAME)
    assert (parts["run-picture"], parts["run-control"]) == ("", "")
    assert msgspec.json.encode(parts)


async def test_a_stream_that_is_cancelled_again_while_it_ends_still_ends_in_order() -> None:
    ended = []

    async def parts() -> AsyncGenerator[str, None]:
        try:
            yield "first"
            await asyncio.Event().wait()
        finally:
            for _ in range(5):
                await asyncio.sleep(0)
            ended.append("parts")

    async def read() -> None:
        async with aclosing(stream(parts(), 60, str, SIGN_OF_LIFE)) as streamed:
            async for _ in streamed:
                pass

    reading = asyncio.create_task(read())
    for _ in range(5):
        await asyncio.sleep(0)
    # As a cancel scope does, which cancels its tasks until they are gone.
    while not reading.done():
        reading.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert ended == ["parts"]


@pytest.mark.parametrize(("lifecycle", "first"), [("terminated", "run-answer"), ("running", "run-picture")])
def test_the_answer_leads_the_page_of_a_run_that_is_over(lifecycle: Any, first: str) -> None:
    view = view_of(envelope_of(lifecycle=lifecycle, terminal_reason="completed"))
    content = run_content(view, run_parts(view, FRAME))
    places = {name: content.index(f'<div id="{name}">') for name in ("run-answer", "run-picture", "run-control")}
    assert min(places["run-answer"], places["run-picture"]) == places[first] > places["run-control"]
