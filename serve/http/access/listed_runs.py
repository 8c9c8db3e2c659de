"""Lists the runs that a caller may see: its own, and for an operator those of other HTTP callers."""

from __future__ import annotations

import re

from runtime.store.options import StoreOptions
from runtime.store.run_log import RunPlace, RunSummary
from serve.http.access.callers import Caller
from serve.http.documents.problems import RefusedError
from serve.run_logs import newest_runs, visible_runs

ALL = "all"
PRINCIPAL_PATTERN = "^(all|(token|address):[!-~]{1,200})$"
_NAMED = re.compile(PRINCIPAL_PATTERN)
OPERATE = "operate"
OF_PRINCIPAL = (
    "Runs of another principal, such as `token:ann`, or of `all` callers of the service; needs the scope `operate`."
)


def listed_runs(
    store: StoreOptions,
    limit: int,
    caller: Caller,
    principal: str | None,
    before: RunPlace | None,
    finished: bool | None = None,
) -> list[RunSummary]:
    """Return the newest runs of the caller or, with `principal`, of that one or of all.

    `finished`: only runs that are over, or only those that are not.
    Raises RefusedError for runs that the caller may not see.
    """
    if principal is None or principal == caller.user_id:
        return newest_runs(store, limit, caller.user_id, before, finished)
    if OPERATE not in caller.scopes:
        raise RefusedError(403, "scope_lacking", f"the runs of others need the scope {OPERATE}")
    if principal == ALL:
        return visible_runs(store, limit, caller.may_see, before, finished)
    if _NAMED.fullmatch(principal) is None:
        told = (
            f"principal is {principal[:100]!r}; the runs of callers named `token:NAME` and `address:HOST` can be listed"
        )
        raise RefusedError(422, "bad_input", told)
    return newest_runs(store, limit, principal, before, finished)
