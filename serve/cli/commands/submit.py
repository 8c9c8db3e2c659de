"""Runs `jeeves submit`: gives work to a Ray cluster as a job, and follows its log."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path
from typing import Annotated

import typer

from runtime.errors import InputError
from serve.cli.output.terminal import say, say_json, say_line, warn_line
from serve.ray_jobs import RayJobs, Submission, check_name, job_name

app = typer.Typer(help="Run batches and fixes as jobs on a Ray cluster.", no_args_is_help=True)

STOPPED = 1
_REPEATED_LOG = ", last available logs"
# Of what follows the options of these commands, every argument belongs to the job.
_PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False}
_METAVAR = "[OPTIONS] ARGUMENTS_OF_THE_JOB..."
OWN_OPTIONS = frozenset(("--address", "--name", "--folder", "--env", "--no-follow"))
"""Options of these commands that neither `batch` nor `fix` has; `fix` has a `--python` of its own."""
_BEHIND = "Run `{}` as a job: give its arguments behind the options; a job that was stopped goes on."

Address = Annotated[
    str | None,
    typer.Option(help="Job API of the cluster, http://HOST:8265; default: RAY_API_SERVER_ADDRESS or this machine."),
]
Name = Annotated[str | None, typer.Option(help="Name of the job; default: one that follows from its arguments.")]
Folder = Annotated[
    Path | None, typer.Option(readable=False, help="Folder on the cluster that paths start from; default: this one.")
]
Variables = Annotated[list[str] | None, typer.Option("--env", metavar="NAME=VALUE", help="Variable; may be repeated.")]
Python = Annotated[str, typer.Option(help="Interpreter on the cluster in which jeeves is installed.")]
NoFollow = Annotated[bool, typer.Option("--no-follow", help="Return once the job is submitted.")]
JobName = Annotated[str, typer.Argument(metavar="JOB", help="Name of a job, or id of a submission.")]


@app.command("batch", options_metavar=_METAVAR, context_settings=_PASSED_ON, help=_BEHIND.format("jeeves batch"))
@app.command("fix", options_metavar=_METAVAR, context_settings=_PASSED_ON, help=_BEHIND.format("jeeves fix"))
def submit(
    context: typer.Context,
    address: Address = None,
    name: Name = None,
    folder: Folder = None,
    env: Variables = None,
    python: Python = "python",
    no_follow: NoFollow = False,
) -> None:
    """Submit the command of this name as a job."""
    kind = str(context.info_name)
    variables = _variables(env or [])
    _check_order(kind, context.args)
    place = folder or Path.cwd()
    named = job_name(kind, place, context.args) if name is None else check_name(name)
    # Paths among the arguments mean the same there as here, if the folder is there; what it has of Python is not ours.
    work = shlex.join([python, "-P", "-m", f"serve.jobs.{kind}", *_with_id(kind, named, context.args)])
    jobs = RayJobs(address)
    job, is_new = jobs.submit(kind, named, f"cd {shlex.quote(str(place))} && exec {work}", variables)
    warn_line(f"job {job.id} {'is submitted' if is_new else 'is under way already'}")
    raise typer.Exit(0 if no_follow else _followed(jobs, job))


@app.command("list")
def list_jobs(
    address: Address = None, as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False
) -> None:
    """List the jobs of Jeeves on the cluster, oldest first."""
    found = RayJobs(address).all()
    if as_json:
        say_json([{"id": each.id, "name": each.name, "status": each.status} for each in found])
        return
    for each in found:
        say_line(f"{each.id} {each.status}")


@app.command("follow")
def follow(job: JobName, address: Address = None) -> None:
    """Print the log of a job from its beginning to its end; the exit status is that of the job."""
    jobs = RayJobs(address)
    raise typer.Exit(_followed(jobs, jobs.newest(job)))


@app.command("stop")
def stop(job: JobName, address: Address = None) -> None:
    """Stop a job; submitted again, it goes on where it was."""
    jobs = RayJobs(address)
    found = jobs.newest(job)
    was_under_way = jobs.stop(found.id)
    say_line(f"job {found.id} {'is being stopped' if was_under_way else 'was not under way'}")


def _with_id(kind: str, name: str, arguments: list[str]) -> list[str]:
    """Return the arguments of the job; a fix goes on under the name of its job."""
    return ["--id", name, *arguments] if kind == "fix" else arguments


def _check_order(kind: str, arguments: list[str]) -> None:
    behind = [each.partition("=")[0] for each in arguments if each.partition("=")[0] in OWN_OPTIONS]
    if behind:
        raise InputError(
            f"{behind[0]} is an option of `jeeves submit {kind}` and stands behind the first argument of the job, which"
            f" would get it: jeeves submit {kind} {behind[0]} … {arguments[0][:80]!r} …"
        )


def _variables(given: list[str]) -> dict[str, str]:
    parts = [each.partition("=") for each in given]
    wrong = [name for name, mark, _ in parts if not mark or not name]
    if wrong:
        raise InputError(f"--env takes NAME=VALUE, not {wrong[0][:80]!r}")
    return {name: value for name, _, value in parts}


def _followed(jobs: RayJobs, job: Submission) -> int:
    """Print the log of a job to its end, and return its exit status; an interruption leaves the job under way."""
    try:
        asyncio.run(_print_log(jobs, job.id))
    except KeyboardInterrupt:
        warn_line(f"job {job.id} goes on; jeeves submit follow {job.id}")
        raise
    ended = jobs.of(job.id)
    warn_line(f"job {ended.id} {ended.status.lower()}{_why(ended)}")
    if ended.status == "SUCCEEDED":
        return 0
    return ended.exit_status or STOPPED


def _why(ended: Submission) -> str:
    if ended.status == "SUCCEEDED" or not ended.message:
        return ""
    # What follows the reason is the end of the log, which was printed.
    return f": {ended.message.splitlines()[0].partition(_REPEATED_LOG)[0][:300]}"


async def _print_log(jobs: RayJobs, submission_id: str) -> None:
    async for piece in jobs.log_lines(submission_id):
        say(piece)
