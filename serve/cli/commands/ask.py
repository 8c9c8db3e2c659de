"""Runs `jeeves ask`: answers one question, with citations."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from runtime.memory.sessions import check_session_id
from runtime.run.envelope import InterruptResponse
from runtime.settings import Settings
from serve.answer_document import Ask, exit_status
from serve.capability_sections import mode_named
from serve.cli.command_settings import load_command_settings
from serve.cli.inputs import (
    RunModeOption,
    SystemOption,
    checked_question,
    checked_repository,
    checked_run_mode,
    limits_from,
    with_models,
    with_system,
)
from serve.cli.output.display import Display, display_for
from serve.cli.output.explanation import explanation_text
from serve.cli.output.meaning import told_of_share
from serve.cli.output.rebuilt_files import reporting_rebuilt_files
from serve.cli.output.terminal import say, say_json, say_markdown, warn, warn_line
from serve.cli.process_end import run_to_end
from serve.cli.questions import described, how_to_answer, is_at_terminal, put_to_person
from serve.principals import at_terminal
from serve.runtimes.answering import AskCallbacks


def ask(
    question: Annotated[str, typer.Argument(help="Question about the repository.")],
    repo: Annotated[Path, typer.Option(readable=False, help="Folder of the repository.")] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer document as JSON.")] = False,
    session: Annotated[str | None, typer.Option(help="Session id; questions in a session can refer back.")] = None,
    pipeline: Annotated[str | None, typer.Option(help="Pipeline to run; default: default_pipeline.")] = None,
    mode: Annotated[str | None, typer.Option(help="Mode of the capability; see docs/capabilities.md.")] = None,
    reasoner: Annotated[str | None, typer.Option(help="rules, or llm if a model is configured.")] = None,
    models: Annotated[str | None, typer.Option(help="Model file to use; see docs/models.md.")] = None,
    config: Annotated[Path | None, typer.Option(readable=False, help="Settings file.")] = None,
    explain: Annotated[
        bool, typer.Option(help="Show plans, places considered, proofs, and what was left out.")
    ] = False,
    max_stages: Annotated[int | None, typer.Option(min=0, help="Maximum number of rounds.")] = None,
    max_agent_hops: Annotated[int | None, typer.Option(min=0, help="Maximum number of stage visits.")] = None,
    max_tool_calls: Annotated[int | None, typer.Option(min=0, help="Maximum number of tool calls.")] = None,
    deadline_s: Annotated[float | None, typer.Option(min=0.001, help="Deadline of the run in seconds.")] = None,
    run_mode: RunModeOption = None,
    wait: Annotated[bool, typer.Option("--wait", help="Let the run wait if it raises a question.")] = False,
    system: SystemOption = None,
) -> None:
    """Answer one question about a repository, with citations checked against the files.

    A run that needs a person asks at the terminal; elsewhere, --wait leaves it waiting for `jeeves runs resume`.
    """
    settings = with_system(load_command_settings(config), system)
    limits = limits_from(max_stages=max_stages, max_agent_hops=max_agent_hops, max_tool_calls=max_tool_calls)
    chosen = mode_named(settings, mode, pipeline, limits, deadline_s)
    settings = with_models(settings, reasoner or chosen.reasoner, models)
    if session is not None:
        check_session_id(session)
    asked = Ask(
        question=checked_question(question, settings),
        repo=checked_repository(repo),
        pipeline=chosen.pipeline,
        session_id=session,
        user_id=at_terminal().user_id,
        limits=chosen.limits,
        deadline_s=chosen.deadline_s,
        explain=explain,
        wait=wait or is_at_terminal(),
        clarify=wait,
        durable=wait,
        run_mode=checked_run_mode(run_mode, chosen.pipeline, settings),
        mode=mode,
        product=chosen.product,
    )
    with reporting_rebuilt_files(settings):
        status = run_to_end(_answer(settings, asked, as_json, with_clarifications=wait), chosen.deadline_s)
    raise typer.Exit(status)


async def _answer(settings: Settings, asked: Ask, as_json: bool, with_clarifications: bool) -> int:
    from serve.runtimes.selection import open_runtime

    with display_for(sys.stderr.isatty() and not as_json) as display:
        display.status("starting")
        runtime = await open_runtime(settings, asked.pipeline)

        async def put(interrupt: dict[str, Any]) -> InterruptResponse | None:
            if not is_at_terminal() or (interrupt["kind"] == "clarification" and not with_clarifications):
                return None
            _hide(display)
            return await put_to_person(interrupt)

        try:
            document = await runtime.ask(asked, AskCallbacks(display.event, display.indexing, put, display.waiting))
            _hide(display)
            print_document(document, as_json)
            if not as_json:
                say(explanation_text(document))
        finally:
            await runtime.close()
    return exit_status(document)


def _hide(display: Display) -> None:
    """Remove the live list before the answer is printed, since closing a runtime takes a while."""
    display.__exit__(None, None, None)


def print_document(document: dict[str, Any], as_json: bool) -> None:
    """Print the answer on standard output, and notes on standard error.

    The notes: why rules replaced the model, how to answer a waiting run, and, on a terminal, the share without vectors.
    """
    if "interrupt" in document:
        if not as_json:
            warn(described(document["interrupt"]))
        warn(how_to_answer(str(document["run_id"]), document["interrupt"]))
    if not as_json and sys.stderr.isatty() and (note := told_of_share(document.get("meaning"))):
        warn(note)
    if as_json:
        say_json(document)
    elif sys.stdout.isatty():
        say_markdown(document["answer"])
    else:
        say(f"{document['answer']}\n")
        for why in dict.fromkeys(record["why"] for record in document.get("rules_took_over", ())):
            warn_line(f"jeeves: the model could not be used: {why}")
