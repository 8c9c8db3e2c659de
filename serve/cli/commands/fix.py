"""Runs `jeeves fix`: mends violations on a branch of its own, proven by checks and tests."""

from __future__ import annotations

import asyncio
import errno
import os
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from runtime.codebase.git.tree_places import FIX_TREES, FIXES_FOLDER
from runtime.errors import InputError, MachineError, UnknownNameError
from runtime.primitives.clock import SystemClock
from runtime.processes.call_scope import CallScope, run_in
from runtime.settings import Settings
from serve.cli.command_settings import load_command_settings
from serve.cli.inputs import SystemOption, checked_repository, with_models, with_system
from serve.cli.output.display import Display, display_for
from serve.cli.output.fix_report import json_report, markdown_report
from serve.cli.output.terminal import say, say_json, say_line, warn_line
from serve.cli.process_end import run_to_end

if TYPE_CHECKING:
    from serve.batch.fix_record import FixPlan, FixRecord, FixResult

app = typer.Typer(
    help="""Mend conformance violations.

    They are mended in work trees below the state folder; the commits are collected on one branch.

    Exit status 0: all that were found are fixed, or there are none;
    1: some are left, not tried ones and those of a dry run included;
    2: the input is wrong.
    """,
    invoke_without_command=True,
)

T = TypeVar("T")

PIPELINE = "violation_fix"
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
SOME_LEFT = 1
MAX_CONCURRENCY = 16

Config = Annotated[Path | None, typer.Option(readable=False, help="Settings file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
FixId = Annotated[str, typer.Argument(help="Id of the fix, as `jeeves fix` printed it.")]


@app.callback()
def fix(
    context: typer.Context,
    repo: Annotated[Path, typer.Option(readable=False, help="Folder of the repository.")] = Path(),
    path: Annotated[list[str] | None, typer.Option(help="File or folder below it; may be repeated.")] = None,
    violation: Annotated[list[str] | None, typer.Option(help="Id of a violation, as `jeeves check` lists it.")] = None,
    select: Annotated[str, typer.Option(help="Checks, with commas.")] = "C901,PLR0912,PLR0915,F401,F541,F811",
    max_complexity: Annotated[int, typer.Option(min=1, help="Highest cyclomatic complexity of a function.")] = 10,
    limit: Annotated[int | None, typer.Option(min=1, help="Try at most so many violations.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=MAX_CONCURRENCY, help="Files worked on side by side.")] = 2,
    python: Annotated[str | None, typer.Option(help="Interpreter that runs the tests; default: detected.")] = None,
    test_command: Annotated[str | None, typer.Option(help="Command that runs the tests; default: detected.")] = None,
    untested: Annotated[bool, typer.Option("--untested", help="Also fix functions that no passing test runs.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the diffs; commit nothing.")] = False,
    confirm: Annotated[bool, typer.Option("--confirm", help="Ask before each commit.")] = False,
    review: Annotated[bool, typer.Option("--review", help="Show each diff for review before its commit.")] = False,
    line_length: Annotated[int | None, typer.Option(min=40, help="Longest line; default: the project's.")] = None,
    reasoner: Annotated[str | None, typer.Option(help="rules, or llm if a model is configured.")] = None,
    models: Annotated[str | None, typer.Option(help="Model file to use; see docs/models.md.")] = None,
    report: Annotated[Path | None, typer.Option(readable=False, help="Write the report to this file, too.")] = None,
    given_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="Id of this fix; one that was begun goes on.")
    ] = None,
    as_json: AsJson = False,
    system: SystemOption = None,
    config: Config = None,
) -> None:
    """Mend the violations that the options choose, unless a command of its own is called."""
    if context.invoked_subcommand is not None:
        return
    from serve.batch.fix_lock import check_fix_id, only_one
    from serve.batch.fix_planning import FixChoices, planned

    if given_id is not None:
        check_fix_id(given_id)
    _refuse_questions_without_terminal(asks=confirm or review)
    _refuse_unwritable(report)
    settings = with_models(with_system(load_command_settings(config), system), reasoner, models)
    root = Path(checked_repository(repo))
    choices = FixChoices(
        paths=tuple(path or ()),
        ids=tuple(violation or ()),
        select=tuple(part.strip() for part in select.split(",") if part.strip()),
        max_complexity=max_complexity,
        limit=limit,
        concurrency=1 if confirm or review else concurrency,
        python=python,
        test_command=test_command,
        includes_untested=untested,
        is_dry_run=dry_run,
        confirm=confirm,
        review=review,
        line_length=line_length,
    )
    fix_id = given_id or f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
    with only_one(settings.state_dir / FIXES_FOLDER / "locks", fix_id):
        plan, record = _begun(settings, fix_id, lambda: planned(settings, root, choices, fix_id), as_json)
        raise typer.Exit(_run(settings, plan, record, report, as_json))


def _begun(
    settings: Settings, fix_id: str, plan_it: Callable[[], tuple[FixPlan, FixRecord]], as_json: bool
) -> tuple[FixPlan, FixRecord]:
    """Return the plan of a fix and its record: those of one that was begun, or new ones."""
    from serve.batch.fix_record import FixRecord

    if fix_id in FixRecord.known(settings.state_dir / FIXES_FOLDER):
        warn_line(f"fix {fix_id} was begun before, and goes on")
        return _recorded(settings, fix_id)
    with display_for(sys.stderr.isatty() and not as_json) as display:
        display.status("listing violations")
        with _told_of_full_disk(settings, f"fix {fix_id} could not begin"):
            plan, record = plan_it()
    for line in plan.told:
        warn_line(line)
    if plan.requests:
        warn_line(f"fix {fix_id}; after an interruption it goes on with: jeeves fix resume {fix_id}")
    return plan, record


@app.command("show")
def show(fix_id: FixId, as_json: AsJson = False, config: Config = None) -> None:
    """Print the report of a fix, as far as it came."""
    plan, record = _recorded(load_command_settings(config), fix_id)
    _print(plan, record, None, as_json)


@app.command("resume")
def resume(
    fix_id: FixId,
    report: Annotated[Path | None, typer.Option(readable=False, help="Write the report to this file, too.")] = None,
    as_json: AsJson = False,
    system: SystemOption = None,
    config: Config = None,
) -> None:
    """Go on with a fix that was interrupted; what has ended is not done again."""
    _refuse_unwritable(report)
    settings = with_system(load_command_settings(config), system)
    plan, record = _recorded(settings, fix_id)
    _refuse_questions_without_terminal(asks=any(each["confirm"] or each["review"] for each in plan.requests))
    settings = with_models(settings, plan.reasoner, None)
    raise typer.Exit(_run(settings, plan, record, report, as_json))


def _refuse_questions_without_terminal(*, asks: bool) -> None:
    from serve.cli.asking import is_at_terminal

    if asks and not is_at_terminal():
        raise InputError("--confirm and --review ask at a terminal, and there is none; --dry-run only prints the diffs")


def _refuse_unwritable(report: Path | None) -> None:
    """Refuse a place for the report before the work is done that it would tell of. Raises InputError."""
    if report is None:
        return
    if report.is_dir():
        raise InputError(f"--report {report} is a folder; name a file", path=str(report))
    if not report.parent.is_dir():
        raise InputError(f"--report {report}: there is no folder {report.parent}", path=str(report))
    if not os.access(report if report.exists() else report.parent, os.W_OK):
        raise InputError(f"--report {report} cannot be written: permission denied", path=str(report))


@contextmanager
def _told_of_full_disk(settings: Settings, what: str) -> Iterator[None]:
    """Raise MachineError in the place of an error that only says that nothing more can be written."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        problem = (
            f"nothing more can be written below {settings.state_dir}: {error.strerror}; make room, or lift the limit"
        )
        raise MachineError(f"{problem}. {what}") from error


def _recorded(settings: Settings, fix_id: str) -> tuple[FixPlan, FixRecord]:
    from serve.batch.fix_record import FixRecord

    if "/" in fix_id or fix_id.startswith("."):
        raise UnknownNameError(f"no fix has the id {fix_id!r}", name=fix_id, known=[])
    record = FixRecord.of(settings.state_dir / FIXES_FOLDER, fix_id)
    return record.plan(), record


def _run(settings: Settings, plan: FixPlan, record: FixRecord, report: Path | None, as_json: bool) -> int:
    from serve.batch.fix_record import left_over

    if plan.requests and not record.has_ended:
        cut_off = f"fix {plan.fix_id} was cut off; it goes on with: jeeves fix resume {plan.fix_id}"
        with _told_of_full_disk(settings, cut_off):
            run_to_end(_worked_off(settings, plan, record, shows=sys.stderr.isatty() and not as_json), None)
    _print(plan, record, report, as_json)
    return SOME_LEFT if left_over(plan, record.results()) else 0


async def _worked_off(settings: Settings, plan: FixPlan, record: FixRecord, *, shows: bool) -> int:
    """Take the baseline, run what has not ended, test all of it together, and close the work tree."""
    from runtime.store.opening import open_store
    from runtime.store.options import store_options
    from runtime.store.sql_work_queue import WORK_QUEUES
    from serve.batch import fixing
    from serve.batch.members import Members

    trees = settings.state_dir / FIX_TREES
    with display_for(shows) as display:
        display.status("running the tests as they are")
        taken = await _in_thread(partial(fixing.take_baseline, plan, record, trees))
        if taken.reused_from_ms is not None:
            at = datetime.fromtimestamp(taken.reused_from_ms / 1000, UTC)
            warn_line(f"the tests ran on this commit before ({at:%Y-%m-%d %H:%M} UTC); what they said then counts")
        runner = await _Runner.opened(settings, display, len(plan.requests))
        try:
            with closing(open_store(store_options(settings), SystemClock())) as stores:
                queue = stores.part(WORK_QUEUES)
                members = Members(settings.state_dir / "batch", f"fix-{plan.fix_id}")
                workers = fixing.FixWorkers(queue, plan, record, runner.run, runner.ended)
                await workers.work_off(members)
        finally:
            await runner.close()
        if not plan.is_dry_run:
            display.status("testing all fixes together")
            await _in_thread(partial(fixing.test_together, plan, record, trees))
        await _in_thread(partial(fixing.close, plan, trees))
    record.end()
    return 0


async def _in_thread(work: Callable[[], T]) -> T:
    """Do work in a thread; if the command is interrupted meanwhile, kill the programs of the work."""
    scope = CallScope()
    try:
        return await asyncio.to_thread(run_in, scope, work)
    except asyncio.CancelledError:
        scope.call_off()
        raise


class _Runner:
    """Runs the requests of a plan, one run for each, and shows how many have ended."""

    def __init__(self, runtime: Any, settings: Settings, display: Display, total: int) -> None:
        self._runtime = runtime
        self._settings = settings
        self._display = display
        self._total = total
        self._ended = 0

    @classmethod
    async def opened(cls, settings: Settings, display: Display, total: int) -> _Runner:
        from serve.runtimes.selection import open_runtime

        display.status("starting")
        return cls(await open_runtime(settings, PIPELINE), settings, display, total)

    async def run(self, request: dict[str, Any], begun: Any) -> dict[str, Any]:
        """Run one request; `begun` is told the id of its run."""
        from serve.answer_document import Ask
        from serve.cli.asking import is_at_terminal
        from serve.cli.questions import put_to_person
        from serve.principals import at_terminal
        from serve.runtimes.answering import AskCallbacks

        asks = bool(request.get("confirm") or request.get("review"))
        ask = Ask(
            question=f"mend {request['violation']['check_id']} in {request['violation']['path']}",
            repo=request["repository"],
            pipeline=PIPELINE,
            user_id=at_terminal().user_id,
            wait=asks and is_at_terminal(),
            priority="low",
            task=request,
        )

        def on_event(event: Any) -> None:
            if event.type == "run.accepted":
                begun(str(event.run_id))
            self._display.event(event)

        callbacks = AskCallbacks(on_event=on_event)
        if asks and is_at_terminal():
            callbacks = AskCallbacks(on_event=on_event, on_interrupt=put_to_person)
        document: dict[str, Any] = await self._runtime.ask(ask, callbacks)
        return document

    def ended(self, result: FixResult) -> None:
        """Show that a run has ended."""
        self._ended += 1
        told = (result.fix or {}).get("ending", "failed")
        self._display.status(f"{self._ended} of {self._total} violations: {result.name} {told}")

    async def close(self) -> None:
        await self._runtime.close()


def _print(plan: FixPlan, record: FixRecord, report: Path | None, as_json: bool) -> None:
    results = record.results()
    if report is not None:
        try:
            report.write_text(markdown_report(plan, results), encoding="utf-8")
        except OSError as error:
            raise InputError(f"{report} cannot be written: {error.strerror}", path=str(report)) from error
    if as_json:
        say_json(json_report(plan, results))
    elif sys.stdout.isatty():
        from serve.cli.output.terminal import say_markdown

        say_markdown(markdown_report(plan, results))
    else:
        say(markdown_report(plan, results))
    if plan.requests and not as_json and not plan.is_dry_run:
        say_line(f"details of a run: jeeves runs show RUN; of this fix: jeeves fix show {plan.fix_id}")
