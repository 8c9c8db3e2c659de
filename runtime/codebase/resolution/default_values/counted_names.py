"""Tells names that code counts up: what they begin with is a state, and no setting.

`self.retries = 0` says how often something was tried so far where another line has `self.retries += 1`.
"""

from __future__ import annotations

import re

# `tries += 1`, `tries++`, `++this.tries;`; the option `--tries` of a command is not counted.
_COUNTED = re.compile(
    r"([A-Za-z_$][\w$]{0,120})\s{0,4}(?:\+\+|--|\+=|-=)"
    r"|(?:\+\+|--)(?:[\w$]{1,80}(?:\.|->)){0,4}([A-Za-z_$][\w$]{0,120})\s{0,4}[;)]"
)


def counted_names(text: str) -> frozenset[str]:
    """Return the names that a text of code counts up or down, without their owners."""
    return frozenset(name for names in _COUNTED.findall(text) for name in names if name)
