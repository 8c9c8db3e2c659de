"""Tells definitions that are short enough to be shown whole, and comments that are left out of them.

Pure functions over the statements of one place.
"""

from __future__ import annotations

from runtime.codebase.search.statements import Statements

# A block that ends so few lines ahead of the end of its definition goes on to there.
MAX_REST_LINES = 24
# A definition of no more lines of code is shown from its beginning to its end.
MAX_WHOLE_LINES = 48
# A longer comment above a definition that is shown whole, or in it, is left out.
MAX_COMMENT_LINES = 6


def is_short(statements: Statements) -> bool:
    """Return whether a place is one definition with few enough lines of code to be shown whole."""
    whole = statements.whole()
    if whole is None or statements.is_holder(whole):
        return False
    within = range(whole.start, whole.end + 1)
    code = sum(bool(statements.lines[at].strip()) and not statements.is_comment[at] for at in within)
    return code <= MAX_WHOLE_LINES and len(within) - len(long_comments(statements)) <= MAX_WHOLE_LINES + MAX_REST_LINES


def long_comments(statements: Statements) -> set[int]:
    """Return the positions of comments and documentation of more lines than are shown with code."""
    found: set[int] = set()
    run: list[int] = []
    for at, is_comment in enumerate([*statements.is_comment, False]):
        if is_comment:
            run.append(at)
            continue
        if len(run) > MAX_COMMENT_LINES:
            found.update(run)
        run = []
    return found
