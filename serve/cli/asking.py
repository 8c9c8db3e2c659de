"""Shows at the terminal the stages of a run, what a person is asked meanwhile, and the answer."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from runtime.run.envelope import InterruptResponse
from serve.cli.output.display import Display, display_for
from serve.cli.output.explanation import explanation_text
from serve.cli.output.meaning import told_of_share
from serve.cli.output.terminal import say, say_json, say_markdown, warn, warn_line
from serve.runtimes.answering import AskCallbacks

Document = TypeVar("Document", dict[str, Any], dict[str, Any] | None)


def is_at_terminal() -> bool:
    """Return True if a person can be asked: standard input and standard error are terminals."""
    return sys.stdin.isatty() and sys.stderr.isatty()


async def shown(
    answer: Callable[[AskCallbacks, Display], Awaitable[Document]], as_json: bool, with_clarifications: bool
) -> Document:
    """Show the stages of a run while it works, print its answer and return the document; None is not printed."""
    with display_for(sys.stderr.isatty() and not as_json) as display:

        async def put(interrupt: dict[str, Any]) -> InterruptResponse | None:
            is_unwanted = interrupt["kind"] == "clarification" and not with_clarifications
            if is_unwanted or not is_at_terminal():
                return None
            # Imported here: what reads from a terminal takes long to import, and few runs ask.
            from serve.cli.questions import put_to_person

            _hide(display)
            return await put_to_person(interrupt)

        callbacks = AskCallbacks(display.event, display.indexing, put, display.waiting)
        document = await answer(callbacks, display)
        if document is not None:
            _hide(display)
            print_document(document, as_json)
            if not as_json:
                say(explanation_text(document))
    return document


def _hide(display: Display) -> None:
    """Remove the live list before the answer is printed, since closing a runtime takes a while."""
    display.__exit__(None, None, None)


def print_document(document: dict[str, Any], as_json: bool) -> None:
    """Print the answer on standard output, and notes on standard error.

    The notes: why rules replaced the model, how to answer a waiting run, and, on a terminal, the share without vectors.
    """
    if "interrupt" in document:
        from serve.cli.questions import described, how_to_answer

        if not as_json:
            warn(described(document["interrupt"]))
        warn(how_to_answer(str(document["run_id"]), document["interrupt"]))
    if not as_json and sys.stderr.isatty() and (note := told_of_share(document.get("meaning"))):
        warn(note)
    if as_json:
        say_json(document)
    elif sys.stdout.isatty():
        from serve.cli.output.places import addresses, has_links

        say_markdown(document["answer"], addresses(document, os.environ) if has_links(os.environ) else {})
    else:
        say(f"{document['answer']}\n")
        for why in dict.fromkeys(record["why"] for record in document.get("rules_took_over", ())):
            warn_line(f"jeeves: the model could not be used: {why}")
