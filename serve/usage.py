"""Sums what runs have used, by principal and by session, from the run logs of the configured store.

The logs have what every run used, wherever it was driven, for as long as its run is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from runtime.memory.owned_sessions import SessionOwner, owners_in
from runtime.memory.sessions import SESSIONS
from runtime.primitives.money import told_money
from runtime.store.opening import has_database, open_database, run_log_names
from runtime.store.options import StoreOptions
from runtime.store.run_records import RunUsage, UsedRun
from runtime.store.unowned_logs import reading

HOUR_MS = 3_600_000


class UsageSum(msgspec.Struct, frozen=True):
    """Counts the runs of somebody, or of a session, and what they used together."""

    runs: int = 0
    used: RunUsage = RunUsage()

    def plus(self, run: UsedRun) -> UsageSum:
        """Return the sum with one more run."""
        return UsageSum(self.runs + 1, self.used.plus(run.usage))

    def document(self) -> dict[str, Any]:
        """Return the sum as doors give it; the cost as a decimal number in a string, which nobody rounds."""
        used = self.used
        return {
            "runs": self.runs,
            "llm_calls": used.llm_calls,
            "tool_calls": used.tool_calls,
            "tokens_in": used.tokens_in,
            "tokens_out": used.tokens_out,
            "cost": told_money(used.cost_micro),
        }


def used_runs(
    options: StoreOptions, since_ms: int, user_id: str | None = None, session_id: str | None = None
) -> list[UsedRun]:
    """Return what each run has used that began since then. Raises StateStorageError."""
    found: list[UsedRun] = []
    for name in run_log_names(options):
        with reading(options, name) as log:
            found += log.used(since_ms, user_id, session_id)
    return found


def session_owners(options: StoreOptions, runs: Iterable[UsedRun]) -> dict[str, SessionOwner]:
    """Return the owners of the sessions of runs by session id, as far as they are registered.

    Raises StateStorageError. Nothing is created or changed.
    """
    ids = sorted({run.session_id for run in runs if run.session_id})
    if not ids or not has_database(options, SESSIONS.database):
        return {}
    database = open_database(options, SESSIONS.database, SESSIONS.label, readonly=True)
    try:
        return owners_in(database, ids)
    finally:
        database.close()


def summed(runs: Iterable[UsedRun]) -> UsageSum:
    """Return the sum of some runs."""
    total = UsageSum()
    for run in runs:
        total = total.plus(run)
    return total


def by_principal(runs: Iterable[UsedRun]) -> dict[str, UsageSum]:
    """Return the sum of each principal, the most expensive first, then the one with the most runs."""
    return _sorted_sums((run.user_id, run) for run in runs)


def by_session(runs: Iterable[UsedRun]) -> dict[str, UsageSum]:
    """Return the sum of each session in the same order; runs without a session are left out."""
    return _sorted_sums((run.session_id, run) for run in runs if run.session_id)


def _sorted_sums(named: Iterable[tuple[str, UsedRun]]) -> dict[str, UsageSum]:
    sums: dict[str, UsageSum] = {}
    for name, run in named:
        sums[name] = sums.get(name, UsageSum()).plus(run)
    return dict(sorted(sums.items(), key=lambda item: (-item[1].used.cost_micro, -item[1].runs, item[0])))
