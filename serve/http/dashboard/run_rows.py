"""Finds the runs of a list: those that a caller may see, in a state, with their questions."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

from runtime.primitives.ids import RunId
from runtime.store.options import StoreOptions
from runtime.store.run_records import RunPlace, RunSummary
from serve.asked_runs import questions_of, shortened
from serve.http.access.callers import Caller
from serve.http.access.listed_runs import ALL, listed_runs

State = Literal["all", "open", "ended"]
STATES: tuple[State, ...] = get_args(State)
_FINISHED: dict[State, bool | None] = {"all": None, "open": False, "ended": True}

MAX_ROWS = 1_000
ROWS = 50
QUESTIONS_KEPT = 5_000


class Wanted(NamedTuple):
    """Describes which runs a list shows. `everybody`: those of all callers, for an operator."""

    state: State = "all"
    everybody: bool = False
    limit: int = ROWS
    before: RunPlace | None = None


class Row(NamedTuple):
    """Holds a run of a list, and its question, shortened; it may be unknown."""

    run: RunSummary
    question: str


class RunRows:
    """Lists runs. What their questions were never changes, so that the newest of them are kept."""

    def __init__(self, store: StoreOptions) -> None:
        self._store = store
        self._questions: OrderedDict[RunId, str] = OrderedDict()

    def rows(self, caller: Caller, wanted: Wanted) -> list[Row]:
        """Return the newest runs, newest first. Raises RefusedError, and StateStorageError."""
        principal = ALL if wanted.everybody else None
        found = listed_runs(
            self._store, wanted.limit, caller, principal, wanted.before, finished=_FINISHED[wanted.state]
        )
        self._learn([run.run_id for run in found if run.run_id not in self._questions])
        return [Row(run, self._questions.get(run.run_id, "")) for run in found]

    def _learn(self, run_ids: Sequence[RunId]) -> None:
        if not run_ids:
            return
        told = questions_of(self._store, run_ids)
        for run_id in run_ids:
            self._questions[run_id] = shortened(told.get(run_id, ""))
        while len(self._questions) > QUESTIONS_KEPT:
            self._questions.popitem(last=False)
