"""Runs `jeeves batch`: answers many questions from a file of JSON lines concurrently; restartable.

The lines are tasks of a work queue in the store (`serve.batch.shared_work`). A line whose failure is not due to its
input is retried, and becomes a document with `error` after its last failure; the others are not affected.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
import typer

from runtime.errors import InputError
from runtime.primitives.clock import SystemClock
from runtime.primitives.text_files import read_bytes_file
from runtime.settings import Settings
from runtime.store.opening import open_store
from runtime.store.options import store_options
from runtime.store.sql_work_queue import WORK_QUEUES
from serve.answer_document import EXIT_FAILED, Ask
from serve.batch.members import Members
from serve.batch.output_file import BatchFile
from serve.batch.shared_work import Line, queue_name, work_off
from serve.capability_sections import Mode, mode_named
from serve.cli.command_settings import load_command_settings
from serve.cli.inputs import (
    SystemOption,
    checked_question,
    checked_repository,
    checked_run_mode,
    with_models,
    with_system,
)
from serve.cli.output.rebuilt_files import reporting_rebuilt_files
from serve.cli.output.terminal import progress_console, warn
from serve.cli.process_end import run_to_end
from serve.principals import at_terminal, for_batch
from serve.runtimes.answering import AskRuntime

MAX_CONCURRENCY = 64
MAX_INPUT_BYTES = 100_000_000


# Modes that every batch has, beside those of its capability.
ANSWER = "answer"
LOCATE = "locate"


def batch(
    source: Annotated[
        Path, typer.Argument(metavar="IN.jsonl", readable=False, help="Lines of {id, question, repo, run_mode?}.")
    ],
    out: Annotated[Path, typer.Option(readable=False, help="Output file, one JSON document per line.")],
    repo_root: Annotated[
        Path, typer.Option(readable=False, help="Folder that relative `repo` paths start from.")
    ] = Path(),
    concurrency: Annotated[int, typer.Option(min=1, max=MAX_CONCURRENCY, help="Number of concurrent questions.")] = 2,
    resume: Annotated[bool, typer.Option(help="Keep the answers in OUT and continue with the rest.")] = False,
    pipeline: Annotated[str | None, typer.Option(help="Pipeline to run.")] = None,
    mode: Annotated[
        str, typer.Option(help="answer: by agents. locate: ranked places only. Or a mode of the capability.")
    ] = ANSWER,
    system: SystemOption = None,
    config: Annotated[Path | None, typer.Option(readable=False, help="Settings file.")] = None,
) -> None:
    """Answer every line of a file; exit status 1 if a line could not be answered."""
    settings = with_system(load_command_settings(config), system)
    chosen = mode_named(settings, None if mode in (ANSWER, LOCATE) else mode, pipeline)
    settings = with_models(settings, chosen.reasoner, None)
    lines, content = read_lines(source)
    file = BatchFile(out)
    file.check(resume)
    queue = queue_name(content, *(str(path.resolve()) for path in (source, out, repo_root)), chosen.pipeline, mode)
    with reporting_rebuilt_files(*settings.state_folders()):
        answered = run_to_end(_run(settings, _Job(lines, file, queue, repo_root, chosen, concurrency, mode), resume))
    file.look()
    failed = len(file.failed() & {line.id for line in lines})
    warn(f"{answered} answered, {failed} failed, {len(lines) - answered - failed} kept\n")
    raise typer.Exit(EXIT_FAILED if failed else 0)


class _Job(NamedTuple):
    """Describes a batch: its lines, their output, and the queue shared with other processes."""

    lines: list[Line]
    out: BatchFile
    queue: str
    repo_root: Path
    chosen: Mode
    workers: int
    mode: str


def read_lines(source: Path) -> tuple[list[Line], bytes]:
    """Return the lines of the input, and its content. Raises InputError listing all invalid lines and duplicate ids."""
    try:
        # Not splitlines(): a JSON string may hold other line separators, such as U+2028.
        content = read_bytes_file(source, MAX_INPUT_BYTES)
        raw = content.decode("utf-8-sig").split("\n")
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
        if "\0" in line.id:
            faults.append(f"line {number}: the id {line.id!r} holds the character U+0000")
        if line.id in seen:
            faults.append(f"line {number}: id {line.id!r} is given twice")
        seen.add(line.id)
        lines.append(line)
    if faults:
        shown = "; ".join(faults[:10]) + (f"; and {len(faults) - 10} more" if len(faults) > 10 else "")
        raise InputError(f"{source}: {shown}", path=str(source), faults=faults)
    return lines, content


async def _run(settings: Settings, job: _Job, resume: bool) -> int:
    """Work off the batch and return how many lines were answered here."""
    runtime = await _open(settings, job)
    user_id = for_batch(at_terminal()).user_id

    async def answer(line: Line) -> dict[str, Any]:
        ask = Ask(
            question=checked_question(line.question, settings),
            repo=checked_repository(job.repo_root / line.repo),
            pipeline=job.chosen.pipeline,
            user_id=user_id,
            id=line.id,
            limits=job.chosen.limits,
            deadline_s=job.chosen.deadline_s,
            priority="low",
            durable=True,
            run_mode=checked_run_mode(line.run_mode, job.chosen.pipeline, settings),
            mode=None if job.mode == ANSWER else job.mode,
            product=job.chosen.product,
        )
        return await runtime.ask(ask)

    try:
        with closing(open_store(store_options(settings), SystemClock())) as stores:
            queue = stores.part(WORK_QUEUES)
            (job.out.go_on if resume else job.out.begin)()
            todo = [line for line in job.lines if not job.out.has(line.id)]
            members = Members(settings.state_dir / "batch", job.queue)
            with _Bar(len(todo)) as advance:
                return await work_off(queue, job.queue, members, job.out, todo, job.workers, answer, advance)
    finally:
        await runtime.close()


async def _open(settings: Settings, job: _Job) -> AskRuntime:
    if job.mode == LOCATE:
        from serve.batch.locating import LocateRuntime

        return LocateRuntime(settings)
    from serve.runtimes.selection import open_runtime

    return await open_runtime(settings, job.chosen.pipeline)


class _Bar:
    """Shows a progress bar on standard error if that is a terminal; entering returns the function that advances it."""

    def __init__(self, total: int) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        console = progress_console()
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
