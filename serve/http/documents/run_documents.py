"""Defines the bodies of requests about runs, and reads their paths and queries."""

import re
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from runtime.errors import InputError, UnknownNameError
from runtime.primitives.ids import RunId
from runtime.run.envelope import InterruptResponse
from runtime.store.run_log import RunPlace, RunSummary

RUNS = "/api/v1/runs"
MAX_LISTED = 500

_RUN_ID = re.compile(r"[0-9A-Za-z._:-]{1,100}")
_PLACE = re.compile(r"([0-9]{1,15})~([0-9A-Za-z._:-]{1,100})")


class RequestBody(BaseModel):
    """Refuses members that it does not have, and values of another type."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ReasonBody(RequestBody):
    """Carries the reason of a cancellation or a pause."""

    reason: str = Field(default="", max_length=4_000)


class AnswerBody(RequestBody):
    """Carries an answer to the question of a run: `approved` for yes-or-no questions, `decision` for reviews."""

    text: str = Field(default="", max_length=200_000)
    approved: bool | None = None
    decision: Literal["approve", "reject", "modify"] | None = None
    data: dict[str, Any] = Field(default_factory=dict)

    def response(self) -> InterruptResponse:
        """Return the answer in the kernel's form."""
        return InterruptResponse(self.text, self.approved, self.decision, self.data)


class ForkBody(RequestBody):
    """Carries the number of the last event that a fork copies."""

    at: int = Field(ge=1, le=2**53)


def _plain_number(value: Any) -> Any:
    if isinstance(value, str) and not (value.isascii() and value.isdigit()):
        raise ValueError(f"a whole number in digits is needed, not {value[:40]!r}")
    return value


PLAIN = BeforeValidator(_plain_number)
"""Allows digits alone in a number of the query: no sign, blank, fraction or underscore."""


def _plain_flag(value: Any) -> Any:
    if isinstance(value, str) and value not in ("true", "false"):
        raise ValueError(f"true or false is needed, not {value[:40]!r}")
    return value


PLAIN_FLAG = BeforeValidator(_plain_flag)
"""Allows `true` and `false` alone in a flag of the query."""


def checked_run_id(run_id: str) -> RunId:
    """Return the id of a run from a path. Raises UnknownNameError for a text that can be none."""
    if not is_run_id(run_id):
        raise no_such_run(run_id)
    return RunId(run_id)


def is_run_id(text: str) -> bool:
    """Return True for a text that can be the id of a run."""
    return _RUN_ID.fullmatch(text) is not None


def no_such_run(run_id: str) -> UnknownNameError:
    """Return the error for a run that is not there, or that the caller may not see: which of the two is not told."""
    return UnknownNameError(f"there is no run {run_id[:100]!r} of yours", name=run_id[:100], known=[])


def page_after(runs: Sequence[RunSummary], limit: int) -> str | None:
    """Return the value of `before` with which the list goes on; None if this page is not full."""
    return f"{runs[-1].started_at_ms}~{runs[-1].run_id}" if runs and len(runs) == limit else None


def place_of_page(before: str | None) -> RunPlace | None:
    """Return the run before which a page begins. Raises InputError for a value that no page gave."""
    if before is None:
        return None
    found = _PLACE.fullmatch(before)
    if found is None:
        raise InputError(f"before is {before[:100]!r}, which no page of runs gave; see its Link header")
    return RunPlace(int(found[1]), RunId(found[2]))


def first_wanted(after: int | None, last_event_id: str | None) -> int:
    """Return the number of the caller's last event, from the query, else from Last-Event-ID, else 0."""
    last = last_event(last_event_id)
    return after if after is not None else last or 0


def last_event(last_event_id: str | None) -> int | None:
    """Return the number in Last-Event-ID, None without one. Raises InputError."""
    if last_event_id is None:
        return None
    if not (last_event_id.isascii() and last_event_id.isdigit() and len(last_event_id) <= 15):
        raise InputError(f"Last-Event-ID is {last_event_id[:40]!r}, not the number of an event")
    return int(last_event_id)
