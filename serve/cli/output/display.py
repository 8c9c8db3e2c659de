"""Displays the progress of a question: a live list of stages on a terminal, nearly nothing elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol

from runtime.primitives.visible_text import visible, visible_line
from runtime.supervision.commands import EVENT_FAMILIES, TEXT_EVENTS, ClientEvent
from serve.cli.output.terminal import progress_console, warn_line

DRAFT_LINES = 6

Drafts = dict[tuple[int | None, int], str]


class Display(Protocol):
    """Shows progress; a context manager around one question."""

    def __enter__(self) -> Display: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def event(self, event: ClientEvent) -> None:
        """Show an event of the run."""

    def indexing(self, done: int, total: int) -> None:
        """Show how many files of the repository have been indexed."""

    def embedding(self, done: int, total: int) -> None:
        """Show how many pieces of the repository have a vector."""

    def status(self, text: str) -> None:
        """Show a status text."""

    def waiting(self, sentence: str) -> None:
        """Show which lock is waited for."""


class QuietDisplay:
    """Shows nothing but what is waited for."""

    def __enter__(self) -> QuietDisplay:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def event(self, event: ClientEvent) -> None:
        """Show nothing."""

    def indexing(self, done: int, total: int) -> None:
        """Show nothing."""

    def embedding(self, done: int, total: int) -> None:
        """Show nothing."""

    def status(self, text: str) -> None:
        """Show nothing."""

    def waiting(self, sentence: str) -> None:
        """Print a line: whoever waits for an answer must know what it waits for."""
        warn_line(f"jeeves: {sentence}")


class LiveDisplay:
    """Shows a growing list of stages on standard error, which is removed before the answer is printed."""

    def __init__(self) -> None:
        from rich.live import Live

        self._live = Live("", console=progress_console(), refresh_per_second=10, transient=True)
        self._finished: list[str] = []
        self._current = "starting"
        self._bar = ""
        self._drafts: Drafts = {}

    def __enter__(self) -> LiveDisplay:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def event(self, event: ClientEvent) -> None:
        if event.type in TEXT_EVENTS:
            self._drafts = with_text(self._drafts, event)
        elif event.type == "stage.started":
            self._current = str(event.stage)
        elif event.type == "tool.called":
            self._current = f"{event.stage}: {event.data['tool']} ({event.data['status']})"
        elif event.type == "stage.finished":
            mark = "✓" if event.data["status"] == "success" else "✗"
            self._finished.append(f"{mark} {event.stage} {event.data['duration_ms']} ms")
            self._current = ""
            self._drafts = {place: text for place, text in self._drafts.items() if place[0] != event.hop}
        elif event.type.partition(".")[0] not in EVENT_FAMILIES:
            self._current = f"{event.stage}: {event.type}"
        self._draw()

    def indexing(self, done: int, total: int) -> None:
        self._bar = _bar("indexing", done, total, "files")
        self._draw()

    def embedding(self, done: int, total: int) -> None:
        self._bar = _bar("embedding", done, total, "pieces")
        self._draw()

    def status(self, text: str) -> None:
        self._current = text
        self._draw()

    def waiting(self, sentence: str) -> None:
        self.status(sentence)

    def _draw(self) -> None:
        from rich.text import Text

        lines = (
            self._finished[-12:]
            + ([f"… {self._current}"] if self._current else [])
            + ([self._bar] if self._bar else [])
        )
        told = Text("\n".join(visible_line(line) for line in lines))
        for draft in self._drafts.values():
            told.append(f"\ndraft, not checked yet:\n{_last_lines(draft)}", style="dim")
        self._live.update(told)


def _bar(verb: str, done: int, total: int, things: str) -> str:
    filled = int(30 * done / total) if total else 0
    return f"{verb} {'█' * filled}{'░' * (30 - filled)} {done}/{total} {things}" if done < total else ""


def with_text(drafts: Drafts, event: ClientEvent) -> Drafts:
    """Return the texts being written (hop and item → text) after a `text.snapshot` or a `text.delta`."""
    place = (event.hop, int(event.data["item"]))
    before = drafts.get(place, "")[: event.data.get("at", 0)]
    return {**drafts, place: before + str(event.data["text"])}


def _last_lines(text: str) -> str:
    return "\n".join(visible(text).splitlines()[-DRAFT_LINES:])


def display_for(terminal: bool) -> Display:
    """Return a live display on a terminal, a quiet one elsewhere."""
    return LiveDisplay() if terminal else QuietDisplay()
