"""`jeeves batch`: many questions from a file of JSON lines, answered side by side, restartable.

The lines are tasks of a work queue. One that fails for a reason of ours is tried again, and becomes a document with
`error` when it is given up; the others go on.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import IO, Annotated, Any

import msgspec
import typer

from runtime.clock import SystemClock
from runtime.errors import InputError
from runtime.settings import Settings, load_settings
from runtime.work_queue import MemoryWorkQueue
from runtime.work_table import Task
from serve.asking import AskRuntime
from serve.cli.inputs import checked_question, checked_repository, with_models
from serve.documents import DOCUMENT_SCHEMA_VERSION, EXIT_FAILED, Ask, exit_status
from serve.queue_workers import QueueWorkers, error_in

MAX_CONCURRENCY = 64
QUEUE = "batch"


class Line(msgspec.Struct, frozen=True):
    """One line of the input; `repo` is a folder, taken from `--repo-root` when it is relative."""

    id: str
    question: str
    repo: str


def batch(
    source: Annotated[Path, typer.Argument(metavar="IN.jsonl", readable=False, help="Lines of {id, question, repo}.")],
    out: Annotated[Path, typer.Option(readable=False, help="Where the answers go, one JSON document per line.")],
    repo_root: Annotated[
        Path, typer.Option(readable=False, help="Folder that relative repositories are below.")
    ] = Path(),
    concurrency: Annotated[int, typer.Option(min=1, max=MAX_CONCURRENCY, help="Questions at once.")] = 2,
    resume: Annotated[bool, typer.Option(help="Keep the answers that OUT has and go on with the rest.")] = False,
    pipeline: Annotated[str | None, typer.Option(help="Pipeline to run.")] = None,
    config: Annotated[Path | None, typer.Option(readable=False, help="Settings file.")] = None,
) -> None:
    """Answer every line of a file; exit status 1 when a line could not be answered."""
    settings = load_settings(config)
    settings = with_models(settings, None, None)
    lines = read_lines(source)
    if out.is_dir() or not os.access(out if out.exists() else out.parent, os.W_OK):
        raise InputError(f"{out} cannot be written; give a file in a folder that exists with --out", path=str(out))
    done = answered_ids(out) if resume else set()
    if out.exists() and not resume:
        raise InputError(f"{out} exists; give --resume to go on with it, or another file", path=str(out))
    todo = [line for line in lines if line.id not in done]
    failed = asyncio.run(_run(settings, todo, out, repo_root, concurrency, pipeline or settings.default_pipeline))
    answered = len(todo) - failed
    sys.stderr.write(f"{answered} answered, {failed} failed, {len(lines) - len(todo)} kept\n")
    raise typer.Exit(EXIT_FAILED if failed else 0)


def read_lines(source: Path) -> list[Line]:
    """The lines of the input. Raises InputError that lists every line that is wrong, and doubled ids."""
    try:
        # Not splitlines(): a JSON string may hold other line separators, such as U+2028.
        raw = source.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{source} cannot be read: {error}", path=str(source)) from error
    lines: list[Line] = []
    faults: list[str] = []
    seen: set[str] = set()
    for number, text in enumerate(raw, 1):
        if not text.strip():
            continue
        try:
            line = msgspec.json.decode(text, type=Line)
        except msgspec.MsgspecError as error:
            faults.append(f"line {number}: {error}")
            continue
        if line.id in seen:
            faults.append(f"line {number}: id {line.id!r} is given twice")
        seen.add(line.id)
        lines.append(line)
    if faults:
        shown = "; ".join(faults[:10]) + (f"; and {len(faults) - 10} more" if len(faults) > 10 else "")
        raise InputError(f"{source}: {shown}", path=str(source), faults=faults)
    return lines


def answered_ids(out: Path) -> set[str]:
    """Ids that OUT has an answer for; a last line that was cut off by a kill is taken away."""
    if not out.exists():
        return set()
    whole, ids = [], set()
    try:
        for data in out.read_bytes().split(b"\n"):
            document = _document_in(data)
            if document is not None and "id" in document and not _has_failed(document):
                whole.append(data + b"\n")
                ids.add(str(document.get("id")))
        draft = out.with_name(out.name + ".tmp")
        draft.write_bytes(b"".join(whole))
        draft.replace(out)
    except OSError as error:
        raise InputError(f"{out} cannot be gone on with: {error.strerror}", path=str(out)) from error
    return ids


def _document_in(data: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _has_failed(document: dict[str, Any]) -> bool:
    return "terminal_reason" not in document or exit_status(document) == EXIT_FAILED


async def _run(
    settings: Settings, lines: list[Line], out: Path, repo_root: Path, concurrency: int, pipeline: str
) -> int:
    from serve.runtimes import open_runtime

    runtime = await open_runtime(settings, pipeline)
    try:
        with out.open("a", encoding="utf-8") as sink, _Bar(len(lines)) as advance:
            return await _answer_all(runtime, settings, lines, sink, repo_root, concurrency, pipeline, advance)
    finally:
        await runtime.close()


async def _answer_all(
    runtime: AskRuntime,
    settings: Settings,
    lines: list[Line],
    sink: IO[str],
    repo_root: Path,
    concurrency: int,
    pipeline: str,
    advance: Any,
) -> int:
    """Have workers take the lines off a queue; how many could not be answered."""
    failed = 0

    def write(document: dict[str, Any]) -> None:
        nonlocal failed
        failed += _has_failed(document)
        sink.write(json.dumps(document, ensure_ascii=False) + "\n")
        sink.flush()
        advance()

    def on_dead(task: Task) -> None:
        line = msgspec.json.decode(task.payload, type=Line)
        problem = {"id": line.id, "question": line.question, "error": error_in(task)}
        write({"schema_version": DOCUMENT_SCHEMA_VERSION, **problem})

    async def answer(payload: bytes) -> dict[str, Any]:
        line = msgspec.json.decode(payload, type=Line)
        ask = Ask(
            question=checked_question(line.question, settings),
            repo=checked_repository(repo_root / line.repo),
            pipeline=pipeline,
            id=line.id,
        )
        return await runtime.ask(ask)

    clock = SystemClock()
    workers = QueueWorkers(MemoryWorkQueue(clock), QUEUE, clock, answer, lambda _, document: write(document), on_dead)
    await workers.work_off([msgspec.json.encode(line) for line in lines], concurrency)
    return failed


class _Bar:
    """A progress bar on standard error when that is a terminal; entering gives the function that advances it."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("answering"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("answering", total=total)

    def __enter__(self) -> Any:
        self._progress.start()
        return lambda: self._progress.advance(self._task)

    def __exit__(self, *_: object) -> None:
        self._progress.stop()
