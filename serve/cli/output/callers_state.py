"""Reports who has used how much in the last 24 hours, for `jeeves status`."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import msgspec

from runtime.memory.usage_log import USAGE
from runtime.primitives.clock import SystemClock
from runtime.settings import Settings
from runtime.store.opening import has_database, open_run_log, open_store, run_log_names
from runtime.store.options import store_options

DAY_MS = 86_400_000
SHOWN = 10


class CallerState(msgspec.Struct):
    """Counts the use of one principal: runs and how many are not over, requests over HTTP, model calls."""

    user_id: str
    runs: int = 0
    unfinished: int = 0
    requests: int = 0
    llm_calls: int = 0
    tokens: int = 0


def callers_state(settings: Settings) -> list[CallerState]:
    """Return the principals of the last 24 hours, the busiest first. Raises StateStorageError."""
    options, since_ms = store_options(settings), SystemClock().now_ms() - DAY_MS
    found: dict[str, CallerState] = {}
    for name in run_log_names(options):
        with closing(open_run_log(options, name, readonly=True)) as log:
            for user_id, runs, unfinished in log.runs_by_user(since_ms):
                caller = found.setdefault(user_id, CallerState(user_id))
                caller.runs += runs
                caller.unfinished += unfinished
    if has_database(options, USAGE.database):
        with closing(open_store(options, SystemClock())) as stores:
            for user_id, used in stores.part(USAGE).totals(since_ms).items():
                caller = found.setdefault(user_id, CallerState(user_id))
                caller.requests = used.get("requests", 0)
                caller.llm_calls = used.get("llm_calls", 0)
                caller.tokens = used.get("tokens", 0)
    return sorted(found.values(), key=lambda caller: (-caller.runs, -caller.requests, caller.user_id))


def as_document(callers: list[CallerState]) -> list[dict[str, Any]]:
    """Return the counts in the form of `jeeves status --json`."""
    return [msgspec.to_builtins(caller) for caller in callers]


def told_of_callers(callers: list[CallerState]) -> str:
    """Return a line for each of the busiest principals, and one for all the others."""
    lines = [
        f"{caller.user_id}: {caller.runs} runs in 24 h, {caller.unfinished} of them not over; "
        f"{caller.requests} requests, {caller.llm_calls} model calls, {caller.tokens} tokens\n"
        for caller in callers[:SHOWN]
    ]
    if len(callers) > SHOWN:
        lines.append(f"{len(callers) - SHOWN} other callers\n")
    return "".join(lines)
