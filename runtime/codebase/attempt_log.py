"""Records the attempts of a composite tool."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal, TypeVar

from runtime.codebase.citation import Citation, ToolResult
from runtime.processes.call_scope import check_called_off
from runtime.tools.result import Attempt, ToolStatus

MAX_RETRIES = 2
_CHARS_PER_TOKEN = 4
_T = TypeVar("_T")


class AttemptLog:
    """Times each attempt of one tool call and builds its result."""

    def __init__(self, max_retries: int = MAX_RETRIES) -> None:
        self.attempts: list[Attempt] = []
        self._retries_left = min(max_retries, MAX_RETRIES)
        self._started_s = time.monotonic()

    def run(self, strategy: str, search: Callable[[], list[_T]], empty: ToolStatus = "empty") -> list[_T]:
        """Run one strategy and record its number of results; `empty` is the status for none.

        Raises CalledOffError in a call that was called off.
        """
        check_called_off()
        started_s = time.monotonic()
        found = search()
        took_ms = int((time.monotonic() - started_s) * 1000)
        self.attempts.append(Attempt(strategy, "ok" if found else empty, len(found), took_ms))
        return found

    @property
    def may_retry(self) -> bool:
        """True if one more retry is permitted."""
        return self._retries_left > 0

    def retry(self, strategy: str, search: Callable[[], list[_T]], empty: ToolStatus = "empty") -> list[_T]:
        """Run a strategy again after a failure or an empty result; return nothing once all retries are used."""
        if not self.may_retry:
            return []
        self._retries_left -= 1
        return self.run(strategy, search, empty)

    def result(
        self,
        status: ToolStatus,
        data: dict[str, Any],
        citations: list[Citation],
        *,
        truncated: bool = False,
        error: str | None = None,
        at_fault: Literal["tool", "request"] = "tool",
    ) -> ToolResult:
        """Return the result of the call; its tokens are estimated from its data."""
        return ToolResult(
            status,
            data,
            tuple(citations),
            tuple(self.attempts),
            truncated,
            error,
            int((time.monotonic() - self._started_s) * 1000),
            tokens_of(data),
            at_fault,
        )


def tokens_of(data: dict[str, Any]) -> int:
    """Estimate the tokens of a result's data from its length."""
    return len(repr(data)) // _CHARS_PER_TOKEN
