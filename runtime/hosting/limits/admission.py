"""Decides how many runs may run at once, and which is next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from runtime.primitives.ids import RunId
from runtime.run.principal import LIMITED_KINDS

PRIORITIES: tuple[str, ...] = ("realtime", "high", "normal", "low", "idle")

WAITS_FOR_ROOM: frozenset[str] = frozenset({"ready", "blocked"})

_RANKS = {priority: number for number, priority in enumerate(PRIORITIES)}


class Quotas(msgspec.Struct, frozen=True, omit_defaults=True):
    """Limits the use of the system; None: unlimited.

    `running…`: concurrent runs, in all, per user, per session; `queued…`: runs that wait for room. `llm_calls_per_day`,
    `tokens_per_day`, `cost_per_day`: the spending of all runs of one user within 24 hours. `run_tool_calls`, `run_s`,
    `run_cost`: a ceiling for each run, beside the bounds of its pipeline. Costs are in millionths of the currency; what
    a run has spent is known when a stage ends, so that the last one may go beyond. Spending limits and ceilings apply
    to the kinds of principals in `limited` alone (`runtime.run.principal.is_limited`).
    """

    running: int | None = None
    running_per_user: int | None = None
    running_per_session: int | None = None
    queued: int | None = None
    queued_per_user: int | None = None
    llm_calls_per_day: int | None = None
    tokens_per_day: int | None = None
    cost_per_day: int | None = None
    run_tool_calls: int | None = None
    run_s: float | None = None
    run_cost: int | None = None
    limited: tuple[str, ...] = LIMITED_KINDS


class Candidate(msgspec.Struct, frozen=True):
    """Identifies a run that waits for admission or is running."""

    run_id: RunId
    user_id: str
    session_id: str | None
    priority: str


class Place(NamedTuple):
    """Holds the place of a waiting run: the turn of its user among all of its priority, and its own arrival."""

    turn: int
    arrival: int


Arrivals = dict[RunId, int]


class AdmissionQueue:
    """Orders waiting runs: by priority, then users in turn, then in the order in which a user's runs began to wait.

    A user whose run got room goes behind all others that wait, and so does one who begins to wait. So a user waits for
    one run of each other user at most, however many runs those have, and later users hold up nobody. The queue must be
    notified of every change of a run's lifecycle, and inspects only runs that may be next, so that ten thousand queued
    runs cost the running ones nothing.
    """

    def __init__(self, quotas: Quotas, has_spent: Callable[[str], bool] = lambda user_id: False) -> None:
        """Create an empty queue. `has_spent` returns True for users whose runs may not continue for now."""
        self._quotas = quotas
        self._has_spent = has_spent
        self._under_way: dict[RunId, Candidate] = {}
        self._of_user: Counter[str | None] = Counter()
        self._of_session: Counter[str | None] = Counter()
        self._waiting: dict[int, dict[tuple[str, str | None], Arrivals]] = {}
        self._where: dict[RunId, tuple[int, tuple[str, str | None]]] = {}
        self._turns: dict[tuple[int, str], int] = {}
        self._waiting_of: Counter[tuple[int, str]] = Counter()
        self._arrivals = 0

    def note(self, candidate: Candidate, lifecycle: str, place: Place | None = None) -> None:
        """Record that a run has entered `lifecycle`: it waits for room, takes room, or does neither.

        `place`: an earlier result of `place`, which a run that waited before gets back.
        """
        run_id = candidate.run_id
        if lifecycle in WAITS_FOR_ROOM:
            self._leave(candidate)
            if run_id not in self._where:
                self._join(candidate, place)
            return
        self._stop_waiting(run_id, is_served=lifecycle == "running")
        if lifecycle != "running":
            self._leave(candidate)
        elif run_id not in self._under_way:
            self._under_way[run_id] = candidate
            self._of_user[candidate.user_id] += 1
            self._of_session[candidate.session_id] += 1

    def next_run(self) -> RunId | None:
        """Return the run that may start or continue now; None if no run waits or there is no room."""
        if self._is_full():
            return None
        for rank in sorted(self._waiting):
            heads = [
                (next(iter(runs.items())), whose)
                for whose, runs in self._waiting[rank].items()
                if self._has_room(*whose)
            ]
            if heads:
                return min(heads, key=lambda head: (self._turns[rank, head[1][0]], head[0][1]))[0][0]
        return None

    def may_begin(self, candidate: Candidate) -> bool:
        """Return True if there is room for the run right now and no waiting run comes before it."""
        if self._is_full() or not self._has_room(candidate.user_id, candidate.session_id):
            return False
        ahead = self.next_run()
        return ahead is None or ahead == candidate.run_id or self._where[ahead][0] > _rank(candidate)

    @property
    def waiting(self) -> int:
        """The number of runs that wait for room."""
        return len(self._where)

    def waiting_of(self, user_id: str) -> int:
        """Return how many runs of a user wait for room."""
        return sum(self._waiting_of[rank, user_id] for rank in range(len(PRIORITIES)))

    def place(self, run_id: RunId) -> Place | None:
        """Return the place that a run got when it began to wait. None if it does not wait."""
        if run_id not in self._where:
            return None
        rank, whose = self._where[run_id]
        return Place(self._turns[rank, whose[0]], self._waiting[rank][whose][run_id])

    def _join(self, candidate: Candidate, place: Place | None) -> None:
        rank, whose = _rank(candidate), (candidate.user_id, candidate.session_id)
        user = (rank, candidate.user_id)
        runs = self._waiting.setdefault(rank, {}).setdefault(whose, {})
        self._arrivals += 1
        if place is None:
            runs[candidate.run_id] = self._arrivals
        else:
            runs[candidate.run_id] = place.arrival
            self._waiting[rank][whose] = dict(sorted(runs.items(), key=lambda item: item[1]))
        turn = self._turns.get(user, self._arrivals)
        self._turns[user] = turn if place is None else min(turn, place.turn)
        self._waiting_of[user] += 1
        self._where[candidate.run_id] = (rank, whose)

    def _stop_waiting(self, run_id: RunId, is_served: bool) -> None:
        where = self._where.pop(run_id, None)
        if where is None:
            return
        rank, whose = where
        user = (rank, whose[0])
        del self._waiting[rank][whose][run_id]
        _count_down(self._waiting_of, user)
        if user not in self._waiting_of:
            del self._turns[user]
        elif is_served:
            self._arrivals += 1
            self._turns[user] = self._arrivals
        if not self._waiting[rank][whose]:
            del self._waiting[rank][whose]
        if not self._waiting[rank]:
            del self._waiting[rank]

    def _leave(self, candidate: Candidate) -> None:
        if self._under_way.pop(candidate.run_id, None) is None:
            return
        _count_down(self._of_user, candidate.user_id)
        _count_down(self._of_session, candidate.session_id)

    def _is_full(self) -> bool:
        return self._quotas.running is not None and len(self._under_way) >= self._quotas.running

    def _has_room(self, user_id: str, session_id: str | None) -> bool:
        quotas = self._quotas
        if self._has_spent(user_id):
            return False
        if quotas.running_per_user is not None and self._of_user[user_id] >= quotas.running_per_user:
            return False
        if quotas.running_per_session is None or session_id is None:
            return True
        return self._of_session[session_id] < quotas.running_per_session


def _count_down(counts: Counter[Any], name: object) -> None:
    counts[name] -= 1
    if not counts[name]:
        del counts[name]  # otherwise an entry would stay for each name that there ever was


def _rank(candidate: Candidate) -> int:
    return _RANKS.get(candidate.priority, _RANKS["normal"])
