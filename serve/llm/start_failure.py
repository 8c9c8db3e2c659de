"""Why a deployment did not come up: the cause, out of the traces that Ray Serve tells of its replicas."""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_CAUSE_CHARS = 500

_COLOURS = re.compile("\x1b\\[[0-9;]*m")
# The line of a trace on which an error stands, whatever package its class comes from.
_ERROR_LINE = re.compile(r"^(?:[A-Za-z_][\w.]*\.)?([A-Za-z_]\w*(?:Error|Exception|Errors)): *(.*)$")


def cause_in(messages: Iterable[str]) -> str:
    """The last error in the first message that holds one, on one line; the last line of them where none does."""
    told = [_COLOURS.sub("", message).strip() for message in messages]
    for message in told:
        lines = message.splitlines()
        for number in range(len(lines) - 1, -1, -1):
            if found := _ERROR_LINE.match(lines[number].strip()):
                return _one_line([f"{found[1]}: {found[2]}", *lines[number + 1 :]])
    return _one_line(next((message.splitlines()[-1:] for message in told if message), ["nothing is told"]))


def _one_line(lines: list[str]) -> str:
    text = " ".join(" ".join(lines).split())
    return text if len(text) <= MAX_CAUSE_CHARS else f"{text[: MAX_CAUSE_CHARS - 1]}…"
