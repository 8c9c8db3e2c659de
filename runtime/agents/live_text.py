"""Streams the text that stages are writing to watchers of a run: provisional, never recorded.

A text is gone when its stage ends. The agent's side sends the whole text so far, a few times a second at most, so that
a lost message leaves no gap (`TextSender`). The supervisor's side keeps the newest and sends each watcher the part that
it lacks (`LiveTexts`): a `text.snapshot` first, then `text.delta` for additions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Container

import msgspec

from runtime.primitives.clock import Clock
from runtime.primitives.ids import RunId, StageKey, StageName
from runtime.supervision.client_data import TextDeltaData, TextSnapshotData
from runtime.supervision.commands import TEXT_EVENTS, ClientEvent, ClientEventType

STAGE_TEXT = "stage.text"

MAX_TEXT_CHARS = 8_000
MAX_TEXTS_PER_RUN = 16
SENT_EVERY_S = 0.2


class StageText(msgspec.Struct, frozen=True):
    """Holds all that a stage has written so far under `key`."""

    key: StageKey
    text: str


class Mark(msgspec.Struct, frozen=True, array_like=True):
    """Records a watcher's position in a text: so many characters of that draft."""

    draft: int
    chars: int


# Place of a text in its run (`hop/item`) → the watcher's position in it.
Marks = dict[str, Mark]

_TEXT_DECODER = msgspec.msgpack.Decoder(StageText)
_MARKS_DECODER = msgspec.msgpack.Decoder(Marks)


def decode_text(data: bytes) -> StageText:
    """Decode the text in a frame's body."""
    return _TEXT_DECODER.decode(data)


def decode_marks(data: bytes) -> Marks:
    """Decode the marks that a watcher sent."""
    return _MARKS_DECODER.decode(data)


def with_event(marks: Marks, event: ClientEvent) -> Marks:
    """Return a watcher's marks after it has seen `event`."""
    if event.type not in TEXT_EVENTS:
        return marks
    given = event.data
    seen = Mark(given["draft"], given.get("at", 0) + len(given["text"]))
    return {**marks, _place(event.hop or 0, given["item"]): seen}


class _Live(msgspec.Struct):
    key: StageKey
    stage: StageName
    draft: int
    at_ms: int
    text: str


class LiveTexts:
    """Holds the texts that are being written, by run."""

    def __init__(self) -> None:
        self._runs: dict[RunId, dict[str, _Live]] = {}

    def show(self, stage: StageName, text: StageText, now_ms: int) -> bool:
        """Store the text of a stage at work; return False when it brings nothing new.

        A text that does not continue the one before, as after a retry, is another draft.
        """
        key, shown = text.key, text.text[:MAX_TEXT_CHARS]
        texts = self._runs.setdefault(key.run_id, {})
        place = _place(key.hop, key.item)
        before = texts.get(place)
        if before is None and len(texts) >= MAX_TEXTS_PER_RUN:
            return False
        if before is not None and (key.attempt < before.key.attempt or shown == before.text):
            return False
        goes_on = before is not None and key == before.key and shown.startswith(before.text)
        draft = before.draft if before is not None and goes_on else max(now_ms, before.draft + 1 if before else 0)
        texts[place] = _Live(key, stage, draft, now_ms, shown)
        return True

    def keep(self, run_id: RunId, at_work: Container[str]) -> None:
        """Drop the texts of a run except those of the attempts that are `at_work` (their keys as text)."""
        texts = self._runs.get(run_id)
        if texts is None:
            return
        for place in [place for place, live in texts.items() if str(live.key) not in at_work]:
            del texts[place]
        if not texts:
            del self._runs[run_id]

    def news(self, run_id: RunId, marks: Marks, at_work: Container[str]) -> list[ClientEvent]:
        """Return the events that bring a watcher with `marks` up to date on the attempts that are `at_work`.

        The events are unnumbered, since they are never sent again.
        """
        events = []
        for place, live in self._runs.get(run_id, {}).items():
            if str(live.key) not in at_work:
                continue
            seen = marks.get(place)
            if seen is None or seen.draft != live.draft or seen.chars > len(live.text):
                events.append(_snapshot(live))
            elif seen.chars < len(live.text):
                events.append(_delta(live, seen.chars))
        return events


class TextSender:
    """Sends texts of stages, at most once in `every_s` for each; `send` gets the newest."""

    def __init__(
        self, clock: Clock, send: Callable[[StageText], Awaitable[None]], every_s: float = SENT_EVERY_S
    ) -> None:
        self._clock = clock
        self._send = send
        self._every_s = every_s
        self._newest: dict[StageKey, str] = {}
        self._sending: dict[StageKey, asyncio.Task[None]] = {}

    def show(self, key: StageKey, text: str) -> None:
        """Show `text` as all that the stage has written so far; characters beyond MAX_TEXT_CHARS are left out."""
        self._newest[key] = text[:MAX_TEXT_CHARS].encode("utf-8", "replace").decode()
        if key not in self._sending:
            self._sending[key] = asyncio.create_task(self._sent(key))

    def over(self, key: StageKey) -> None:
        """Drop the unsent text of a stage that has ended."""
        self._newest.pop(key, None)
        task = self._sending.pop(key, None)
        if task is not None:
            task.cancel()

    async def _sent(self, key: StageKey) -> None:
        """Send until nothing new has come for `every_s`."""
        sent: str | None = None
        while (text := self._newest[key]) != sent:
            sent = text
            await self._send(StageText(key, text))
            await self._clock.sleep(self._every_s)
        del self._sending[key], self._newest[key]


def _place(hop: int, item: int) -> str:
    return f"{hop}/{item}"


def _snapshot(live: _Live) -> ClientEvent:
    data = TextSnapshotData(text=live.text, draft=live.draft, item=live.key.item, provisional=True)
    return _event(live, "text.snapshot", data)


def _delta(live: _Live, at: int) -> ClientEvent:
    data = TextDeltaData(at=at, text=live.text[at:], draft=live.draft, item=live.key.item, provisional=True)
    return _event(live, "text.delta", data)


def _event(live: _Live, type_: ClientEventType, data: TextSnapshotData | TextDeltaData) -> ClientEvent:
    return ClientEvent(0, live.at_ms, live.key.run_id, type_, live.key.hop, live.stage, dict(data))
