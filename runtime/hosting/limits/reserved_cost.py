"""Estimates what the runs under way may still cost.

So runs that begin at once do not overshoot a daily quota.
What a run has cost is booked when its stages end. Until its end it counts with the most that it is expected to cost:
the largest of the ceiling of one run (which its last stage may exceed), what the costliest of its user's last runs has
cost, and of anybody's. While none is known, one run of a user at a time finds out.
"""

from __future__ import annotations

from collections import OrderedDict, deque

from runtime.primitives.ids import RunId

# Runs whose costs are remembered, of each user and of all.
LAST_RUNS = 20
# Users whose runs are remembered: those whose runs ended last.
MOST_USERS = 1_000

_SPENDS = frozenset({"ready", "blocked", "running"})


class ReservedCost:
    """Tracks the runs of each user that may still spend. `run_cost`: the ceiling of one run, if there is one."""

    def __init__(self, run_cost: int | None) -> None:
        self._run_cost = run_cost
        self._open: dict[str, dict[RunId, int]] = {}
        self._last: deque[int] = deque(maxlen=LAST_RUNS)
        self._last_of: OrderedDict[str, deque[int]] = OrderedDict()

    def note(self, run_id: RunId, user_id: str, lifecycle: str, cost_micro: int) -> None:
        """Record what a run has cost so far, and whether it may spend more for now."""
        if lifecycle in _SPENDS:
            self._open.setdefault(user_id, {})[run_id] = cost_micro
        elif self.drop(run_id, user_id) and lifecycle == "terminated":
            self._last.append(cost_micro)
            self._last_of.setdefault(user_id, deque(maxlen=LAST_RUNS)).append(cost_micro)
            self._last_of.move_to_end(user_id)
            if len(self._last_of) > MOST_USERS:
                self._last_of.popitem(last=False)

    def drop(self, run_id: RunId, user_id: str) -> bool:
        """Remove a run; return whether it could still spend."""
        runs = self._open.get(user_id, {})
        was_open = runs.pop(run_id, None) is not None
        if was_open and not runs:
            del self._open[user_id]
        return was_open

    def leaves_nothing(self, user_id: str, left_micro: int) -> bool:
        """Return True if the runs under way of a user may cost all that is left of its quota."""
        runs = self._open.get(user_id)
        if not runs:
            return False
        known: list[int] = [*self._last, *self._last_of.get(user_id, ())]
        if self._run_cost is not None:
            known.append(self._run_cost)
        if not known:
            return True
        return sum(max(0, max(known) - cost) for cost in runs.values()) >= left_micro
