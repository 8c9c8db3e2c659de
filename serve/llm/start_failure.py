"""Extracts the cause of a failed deployment from the traces that Ray Serve reports for its replicas."""

from __future__ import annotations

import re
from collections.abc import Iterable

MAX_CAUSE_CHARS = 500

_COLOURS = re.compile("\x1b\\[[0-9;]*m")
# The line of a trace on which an error stands, whatever package its class comes from.
_ERROR_LINE = re.compile(r"^(?:[A-Za-z_][\w.]*\.)?([A-Za-z_]\w*(?:Error|Exception|Errors)): *(.*)$")


def cause_in(messages: Iterable[str]) -> str:
    """Return the last error of the first message that contains one, on one line; else the last line of a message."""
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
