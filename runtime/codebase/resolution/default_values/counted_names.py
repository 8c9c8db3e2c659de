"""Tells names that code counts up: what they begin with is a state, and no setting.

`self.retries = 0` says how often something was tried so far where another line has `self.retries += 1`.
"""

from __future__ import annotations

import re


def is_counted_up(text: str, name: str) -> bool:
    """Return True if a text of code counts a name up or down; the option `--retries` of a command does not."""
    own = rf"(?<![\w$]){re.escape(name)}(?![\w$])"
    return re.search(rf"{own}\s*(?:\+\+|--|\+=|-=)|(?:\+\+|--)(?:[\w$]+(?:\.|->)){{0,4}}{own}\s*[;)]", text) is not None
