"""Prints for the commands: the only module that writes to standard output and standard error.

Repositories, questions, models and file names may contain characters that change what a terminal shows. Everything
printed passes through `runtime.primitives.visible_text` here; JSON keeps its value.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import sys
import traceback
from collections.abc import Mapping
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any

from runtime.primitives.visible_text import visible, visible_json, visible_line

if TYPE_CHECKING:
    from rich.console import Console

# Without a background, which would be a block in the wrong colour on half of all terminals.
MARKDOWN_STYLES = MappingProxyType({"markdown.code": "bold cyan"})

_ESCAPE = "jeeves.escape"


def escape_what_cannot_be_written() -> None:
    """Let standard output escape characters that its encoding lacks, as JSON does: a Latin-1 terminal has no arrow."""
    codecs.register_error(_ESCAPE, _escaped)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors=_ESCAPE)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    # Lone surrogates are escaped before this; what is left has one unit of UTF-16, or two.
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: `1 model`, `2 models`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def say(text: str) -> None:
    """Print text on standard output; its line feeds are kept, and none is added."""
    sys.stdout.write(visible(text))
    sys.stdout.flush()


def say_line(text: str) -> None:
    """Print one line on standard output; line feeds in the text are escaped, so that no value forges a second line."""
    say(f"{visible_line(text)}\n")


def say_json(document: Any, indent: int | None = None) -> None:
    """Print a JSON document on standard output, on one line unless `indent` is set."""
    say_encoded_json(json.dumps(document, ensure_ascii=False, indent=indent))


def say_encoded_json(document: str) -> None:
    """Print an encoded JSON document and a line feed on standard output."""
    sys.stdout.write(f"{visible_json(document)}\n")
    sys.stdout.flush()


def warn(text: str) -> None:
    """Print text on standard error; its line feeds are kept, and none is added."""
    sys.stderr.write(visible(text))
    sys.stderr.flush()


def warn_line(text: str) -> None:
    """Print one line on standard error; line feeds in the text are escaped."""
    warn(f"{visible_line(text)}\n")


def say_markdown(text: str, addresses: Mapping[str, str] | None = None) -> None:
    """Print Markdown, formatted, on standard output; `addresses`: mark of a citation → what it links to.

    A link in the text is followed by its address, so that it cannot mislead.
    """
    from rich.console import Console
    from rich.theme import Theme

    from serve.cli.output.markdown_view import MarkdownView

    # Colours of foreground and background, as some terminals tell them: 7 and 15 are white.
    is_light = os.environ.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15")
    Console(theme=Theme(dict(MARKDOWN_STYLES))).print(MarkdownView(text, addresses or {}, is_light))


def progress_console() -> Console:
    """Return the console for live lists and progress bars; what they show must be `visible` already."""
    from rich.console import Console

    return Console(stderr=True)


def print_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print an error that nothing has caught, in the form of `sys.excepthook`."""
    warn("".join(traceback.format_exception(kind, error, trace)))
