"""Asks a run's questions at the terminal, or prints the command that answers them later."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import typer

from runtime.run.envelope import InterruptResponse
from serve.cli.output.terminal import warn

T = TypeVar("T")

# Kind of question → the options of `jeeves runs resume` for it; yes-or-no questions use the default.
_WAYS_TO_ANSWER = {
    "clarification": "--text TEXT",
    "agent_review": "--approve | --reject | --modify JSON",
    "checkpoint": "",
}
_YES_OR_NO = "--approve | --reject"


def how_to_answer(run_id: str, interrupt: dict[str, Any]) -> str:
    """Return the command that answers a question later, as one line."""
    ways = _WAYS_TO_ANSWER.get(interrupt["kind"], _YES_OR_NO)
    return f"run {run_id} is waiting; answer with: {f'jeeves runs resume {run_id} {ways}'.rstrip()}\n"


def described(interrupt: dict[str, Any]) -> str:
    """Return the context of a question: its message and its data."""
    parts = [str(interrupt["message"])] if interrupt["message"] else []
    for name, value in interrupt["data"].items():
        parts.append(f"{name}:\n{value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)}")
    return "".join(f"{part}\n\n" for part in parts)


async def put_to_person(interrupt: dict[str, Any]) -> InterruptResponse | None:
    """Ask at the terminal; return None if the person gives no answer (end of input)."""
    warn(f"\n{described(interrupt)}{interrupt['question']}\n")
    return await in_a_thread(lambda: _read_response(str(interrupt["kind"])))


def _read_response(kind: str) -> InterruptResponse | None:
    try:
        if kind == "clarification":
            return InterruptResponse(typer.prompt("answer", err=True))
        if kind != "agent_review":
            return InterruptResponse(approved=typer.confirm("yes?", err=True))
        decision = _read_decision()
        if decision != "modify":
            return InterruptResponse(approved=decision == "approve", decision=decision)
        text = typer.prompt("replacement text", err=True)
        return InterruptResponse(decision="modify", data={"final_response": text})
    except typer.Abort:
        warn("\n")
        return None


def _read_decision() -> Any:
    while True:
        word = str(typer.prompt("approve, reject or modify", err=True)).strip().lower()
        found = [decision for decision in ("approve", "reject", "modify") if word and decision.startswith(word)]
        if len(found) == 1:
            return found[0]


async def in_a_thread(read: Callable[[], T | None]) -> T | None:
    """Read in a daemon thread, so that Ctrl-C can end a program that is at a prompt."""
    loop = asyncio.get_running_loop()
    given: asyncio.Future[T | None] = loop.create_future()

    def settle(response: T | None) -> None:
        if not given.done():
            given.set_result(response)

    def work() -> None:
        response = None
        try:
            response = read()
        finally:
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, response)

    threading.Thread(target=work, name="prompt", daemon=True).start()
    return await given
