"""Removes from the text of a result what differs between two runs of the same thing."""

from __future__ import annotations

import re

_SPAN = r"\d+(?:[.,]\d+)?(?:\s*(?:ns|[uµ]s|ms|s|secs?|seconds?|mins?|minutes?|hrs?|hours?)|[mh])"
_MOMENT = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"
_CLOCK = r"\d{1,2}:\d\d:\d\d(?:[.,]\d+)?"
_ADDRESS = r"0x[0-9a-fA-F]{4,}"

# A span may be given once more in hours, minutes and seconds: "71.20s (0:01:11)".
_NOISE = re.compile(rf"(?<![\w:.])(?:{_SPAN}(?: ?{_SPAN})*(?: \({_CLOCK}\))?|{_MOMENT}|{_CLOCK}|{_ADDRESS})(?![\w:])")


def without_run_noise(text: str) -> str:
    """Return `text` with "#" for each duration, moment and memory address; other numbers stay."""
    return _NOISE.sub("#", text)
