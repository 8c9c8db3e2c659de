"""What a stage writes is seen while it writes: bounded, a few times a second, and of no account to the run."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.agents.capability import StageContext, StageResult
from runtime.agents.live_text import (
    MAX_TEXT_CHARS,
    MAX_TEXTS_PER_RUN,
    LiveTexts,
    Marks,
    StageText,
    TextSender,
    decode_marks,
    with_event,
)
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import RunId, StageKey, StageName
from runtime.run.stage_view import StageView
from runtime.supervision.commands import TEXT_EVENTS, ClientEvent
from runtime.testing import PipelineBuilder
from serve.cli.output.display import Drafts, with_text
from serve.http.connections.event_stream import as_stream_event
from tests.runtime.hosting.hosted import Hosted

RUN = RunId("r-1")
WRITER = StageName("writer")
EVERYBODY = [f"{RUN}/{hop}/{item}/{attempt}" for hop in range(4) for item in range(20) for attempt in range(40)]
ONE = PipelineBuilder().stage("a").build()


def key(hop: int = 1, item: int = 0, attempt: int = 1) -> StageKey:
    return StageKey(RUN, hop, item, attempt)


def shown(texts: LiveTexts, *drafts: str, under: StageKey | None = None) -> LiveTexts:
    for draft in drafts:
        texts.show(WRITER, StageText(under or key(), draft), 1_000)
    return texts


def seen_by(texts: LiveTexts, marks: Marks) -> tuple[list[tuple[str, str]], Marks]:
    """Types and texts of the news, and what the watcher has then."""
    events = texts.news(RUN, marks, EVERYBODY)
    for event in events:
        marks = decode_marks(msgspec.msgpack.encode(with_event(marks, event)))
    return [(event.type, event.data["text"]) for event in events], marks


def test_a_watcher_gets_a_snapshot_first_and_then_what_was_added() -> None:
    texts = shown(LiveTexts(), "The")
    first, marks = seen_by(texts, {})
    assert first == [("text.snapshot", "The")]
    assert seen_by(texts, marks)[0] == []
    added, marks = seen_by(shown(texts, "The oldest", "The oldest parcel"), marks)
    assert added == [("text.delta", " oldest parcel")]
    assert seen_by(texts, {})[0] == [("text.snapshot", "The oldest parcel")]


def test_text_is_marked_as_provisional_and_has_no_number() -> None:
    (event,) = shown(LiveTexts(), "x").news(RUN, {}, EVERYBODY)
    assert event.data["provisional"] is True
    assert (event.seq, event.stage, event.hop) == (0, WRITER, 1)
    assert "id:" not in as_stream_event(event)
    assert as_stream_event(msgspec.structs.replace(event, seq=7)).startswith("id: 7\n")


@pytest.mark.parametrize("second", [key(attempt=2), key()])
def test_text_that_begins_anew_is_another_draft(second: StageKey) -> None:
    texts = shown(LiveTexts(), "first try")
    _, marks = seen_by(texts, {})
    assert seen_by(shown(texts, "another", under=second), marks)[0] == [("text.snapshot", "another")]


def test_a_second_attempt_that_writes_the_same_is_another_draft() -> None:
    texts = shown(LiveTexts(), "the same")
    _, marks = seen_by(texts, {})
    assert seen_by(shown(texts, "the same and more", under=key(attempt=2)), marks)[0] == [
        ("text.snapshot", "the same and more")
    ]


def test_what_an_earlier_attempt_still_says_is_not_heard() -> None:
    texts = shown(shown(LiveTexts(), "second", under=key(attempt=2)), "first")
    assert seen_by(texts, {})[0] == [("text.snapshot", "second")]


def test_items_of_a_fan_out_are_told_apart() -> None:
    texts = shown(shown(LiveTexts(), "one"), "two", under=key(item=1))
    news, marks = seen_by(texts, {})
    assert news == [("text.snapshot", "one"), ("text.snapshot", "two")]
    assert seen_by(shown(texts, "two!", under=key(item=1)), marks)[0] == [("text.delta", "!")]


def test_texts_of_stages_that_are_not_at_work_are_forgotten() -> None:
    texts = shown(shown(LiveTexts(), "one"), "two", under=key(hop=2))
    assert [event.hop for event in texts.news(RUN, {}, {str(key())})] == [1]
    texts.keep(RUN, {str(key(hop=2)): WRITER})
    assert seen_by(texts, {})[0] == [("text.snapshot", "two")]
    texts.keep(RUN, {})
    assert seen_by(texts, {})[0] == []


@pytest.mark.parametrize(("chars", "kept"), [(-1, -1), (0, 0), (1, 0)])
def test_a_text_is_cut_where_it_is_too_long(chars: int, kept: int) -> None:
    texts = shown(LiveTexts(), "x" * (MAX_TEXT_CHARS + chars))
    ((_, text),) = seen_by(texts, {})[0]
    assert len(text) == MAX_TEXT_CHARS + kept


@pytest.mark.parametrize(("more", "told"), [(-1, -1), (0, 0), (1, 0)])
def test_a_run_shows_so_many_texts_at_once_and_no_more(more: int, told: int) -> None:
    texts = LiveTexts()
    for item in range(MAX_TEXTS_PER_RUN + more):
        shown(texts, "x", under=key(item=item))
    assert len(seen_by(texts, {})[0]) == MAX_TEXTS_PER_RUN + told


@given(st.lists(st.tuples(st.integers(1, 3), st.text("ab", max_size=6), st.booleans()), max_size=30))
def test_who_puts_snapshots_and_deltas_together_has_the_newest_text(said: list[tuple[int, str, bool]]) -> None:
    texts = LiveTexts()
    marks: Marks = {}
    drafts: Drafts = {}
    newest: dict[int, str] = {}
    attempts: dict[int, int] = {}
    for hop, text, looks in said:
        attempts[hop] = attempts.get(hop, 1) + (text == "")
        shown(texts, text, under=key(hop=hop, attempt=attempts[hop]))
        newest[hop] = text
        if looks:
            for event in texts.news(RUN, marks, EVERYBODY):
                marks, drafts = with_event(marks, event), with_text(drafts, event)
    for event in texts.news(RUN, marks, EVERYBODY):
        marks, drafts = with_event(marks, event), with_text(drafts, event)
    assert {place[0]: text for place, text in drafts.items()} == newest


async def test_a_text_that_changes_all_the_time_is_sent_a_few_times_a_second_and_the_newest_at_last() -> None:
    clock, sent = FakeClock(), []

    async def send(text: StageText) -> None:
        sent.append(text.text)

    sender = TextSender(clock, send, every_s=0.2)
    for number in range(1, 101):
        sender.show(key(), "x" * number)
        await clock.advance(0.01)
    await clock.advance(1)
    assert len(sent) == 6
    assert sent[-1] == "x" * 100
    sender.show(key(), "again")
    await clock.advance(0)
    assert sent[-1] == "again"


async def test_nothing_is_sent_of_a_stage_that_is_over() -> None:
    clock, sent = FakeClock(), []

    async def send(text: StageText) -> None:
        sent.append(text.text)

    sender = TextSender(clock, send)
    sender.show(key(), "one")
    await clock.advance(0.1)
    sender.show(key(), "one two")
    sender.over(key())
    await clock.advance(10)
    assert sent == ["one"]


async def watched(kit: Hosted, run_id: RunId) -> tuple[list[ClientEvent], asyncio.Task[None]]:
    events: list[ClientEvent] = []

    async def watch() -> None:
        async for event in kit.runner.watch(run_id):
            events.append(event)

    task = asyncio.create_task(watch())
    await kit.clock.advance(0)
    return events, task


async def test_watchers_of_a_run_see_text_between_its_numbered_events_and_the_log_does_not_have_it() -> None:
    async def write(context: StageContext, _view: StageView) -> StageResult:
        for text in ("The", "The oldest", "The oldest \ud800"):
            context.show(text)
            await context.clock.sleep(0.5)
        return StageResult({"done": True})

    kit = Hosted(ONE, {"a": [write]})
    run_id = await kit.submit()
    events, task = await watched(kit, run_id)
    late, second = await watched(kit, run_id)
    for _ in range(8):
        await kit.clock.advance(0.25)
    await asyncio.gather(task, second)
    texts = [(event.type, event.data["text"]) for event in events if event.type in TEXT_EVENTS]
    assert texts == [("text.snapshot", "The"), ("text.delta", " oldest"), ("text.delta", " ?")]
    numbered = [event.seq for event in events if event.type not in TEXT_EVENTS]
    assert numbered == list(range(1, len(numbered) + 1))
    assert [event.type for event in events][-2:] == ["stage.finished", "run.finished"]
    assert late[-1] == events[-1]
    again: Any = [event async for event in kit.runner.watch(run_id)]
    assert [event.seq for event in again] == numbered
