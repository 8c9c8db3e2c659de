"""Runs `jeeves ask`: answers one question, with citations."""

from __future__ import annotations

import os
import secrets
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from runtime.errors import JeevesError, QuestionError
from runtime.settings import Settings, open_state_dir
from serve.answer_document import Ask, exit_status
from serve.capability_sections import mode_named
from serve.cli.asking import is_at_terminal, shown
from serve.cli.command_settings import load_command_settings
from serve.cli.inputs import (
    RunModeOption,
    SystemOption,
    checked_question,
    limits_from,
    with_models,
    with_system,
)
from serve.cli.output.display import Display
from serve.cli.output.places import installed_editor, open_cited
from serve.cli.output.rebuilt_files import reporting_rebuilt_files
from serve.cli.output.terminal import warn_line
from serve.cli.process_end import run_to_end
from serve.cli.prompt import questions_typed
from serve.cli.questions import in_a_thread
from serve.runtimes.answering import AskCallbacks, AskRuntime
from serve.typed_question import TypedQuestion, settled

QuestionArgument = Annotated[
    str | None, typer.Argument(help="Question about the repository; without one, questions are asked for.")
]
ExplainOption = Annotated[bool, typer.Option(help="Show plans, places considered, proofs, and what was left out.")]


def ask(
    question: QuestionArgument = None,
    repo: Annotated[Path, typer.Option(readable=False, help="Folder of the repository.")] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer document as JSON.")] = False,
    session: Annotated[str | None, typer.Option(help="Session id; questions in a session can refer back.")] = None,
    pipeline: Annotated[str | None, typer.Option(help="Pipeline to run; default: default_pipeline.")] = None,
    mode: Annotated[str | None, typer.Option(help="Mode of the capability; see docs/capabilities.md.")] = None,
    reasoner: Annotated[str | None, typer.Option(help="rules, or llm if a model is configured.")] = None,
    models: Annotated[str | None, typer.Option(help="Model file to use; see docs/models.md.")] = None,
    config: Annotated[Path | None, typer.Option(readable=False, help="Settings file.")] = None,
    explain: ExplainOption = False,
    max_stages: Annotated[int | None, typer.Option(min=0, help="Maximum number of rounds.")] = None,
    max_agent_hops: Annotated[int | None, typer.Option(min=0, help="Maximum number of stage visits.")] = None,
    max_tool_calls: Annotated[int | None, typer.Option(min=0, help="Maximum number of tool calls.")] = None,
    deadline_s: Annotated[float | None, typer.Option(min=0.001, help="Deadline of the run in seconds.")] = None,
    run_mode: RunModeOption = None,
    wait: Annotated[bool, typer.Option("--wait", help="Let the run wait if it raises a question.")] = False,
    opens: Annotated[bool, typer.Option("--open", help="Open the first cited place in $VISUAL or $EDITOR.")] = False,
    system: SystemOption = None,
) -> None:
    """Answer one question about a repository, with citations checked against the files.

    Without a question, a prompt takes one after the other, in one session. A run that needs a person asks at the
    terminal; elsewhere, --wait leaves it waiting for `jeeves runs resume`.
    """
    if question is None and not is_at_terminal():
        raise QuestionError("there is no question; give one, or ask at a terminal for a prompt")
    editor = installed_editor(os.environ) if opens else []
    settings = with_system(load_command_settings(config), system)
    limits = limits_from(max_stages=max_stages, max_agent_hops=max_agent_hops, max_tool_calls=max_tool_calls)
    typed = TypedQuestion(
        question=question,
        repo=str(repo),
        session_id=session,
        pipeline=pipeline,
        mode=mode,
        limits=limits,
        deadline_s=deadline_s,
        explain=explain,
        wait=wait or is_at_terminal(),
        clarify=wait,
        run_mode=run_mode,
    )
    chosen = mode_named(settings, mode, pipeline, limits, deadline_s)
    settings = with_models(settings, reasoner or chosen.reasoner, models)
    asked = settled(typed, chosen, settings)
    asker = _Asker(settings, as_json, with_clarifications=wait)
    with reporting_rebuilt_files(*settings.state_folders()):
        if question is None:
            run_to_end(_converse(asker, asked, editor))
            return
        document = run_to_end(_answer(asker, asked), chosen.deadline_s)
    if editor:
        open_cited(document, editor)
    raise typer.Exit(exit_status(document))


class _Asker:
    """Asks questions of one runtime, which is opened with the first, and prints the answers."""

    def __init__(self, settings: Settings, as_json: bool, with_clarifications: bool) -> None:
        self.settings = settings
        self._as_json = as_json
        self._with_clarifications = with_clarifications
        self._runtime: AskRuntime | None = None

    async def ask(self, asked: Ask) -> dict[str, Any]:
        """Show the stages of the run while it works, print its answer and return the document."""
        from serve.runtimes.selection import open_runtime

        async def answer(callbacks: AskCallbacks, display: Display) -> dict[str, Any]:
            if self._runtime is None:
                display.status("starting")
                self._runtime = await open_runtime(self.settings, asked.pipeline)
            return await self._runtime.ask(asked, callbacks)

        return await shown(answer, self._as_json, self._with_clarifications)

    async def close(self) -> None:
        """Release the runtime, if one was opened."""
        if self._runtime is not None:
            await self._runtime.close()


async def _answer(asker: _Asker, asked: Ask) -> dict[str, Any]:
    try:
        return await asker.ask(asked)
    finally:
        await asker.close()


async def _converse(asker: _Asker, asked: Ask, editor: list[str]) -> None:
    """Answer what a person types, in one session; what cannot be answered is told, and the next question taken."""
    session = asked.session_id or f"prompt-{secrets.token_hex(6)}"
    warn_line(f"session {session}; Ctrl-D or `exit` ends, `jeeves ask --session {session}` goes on with it later")
    try:
        async for text in questions_typed(open_state_dir(asker.settings.state_dir)):
            try:
                question = checked_question(text, asker.settings)
                document = await asker.ask(msgspec.structs.replace(asked, question=question, session_id=session))
            except JeevesError as error:
                warn_line(f"jeeves: {error.message}")
                continue
            if editor:
                await in_a_thread(partial(open_cited, document, editor))
    finally:
        await asker.close()
