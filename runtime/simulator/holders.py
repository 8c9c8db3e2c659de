"""Who holds which attempt, as a supervisor has heard it: what dies with an agent is what a former life of it held."""

from __future__ import annotations

from runtime.ids import RunId, StageKey
from runtime.simulator.messages import Report
from runtime.supervision.events import StageFailed, StageSucceeded


class Holders:
    """Attempts that an agent has taken up and not ended, with the life in which it took them up."""

    def __init__(self) -> None:
        self._held: dict[StageKey, tuple[str, int]] = {}
        self._newest: dict[str, int] = {}
        self._lives: dict[str, int] = {}

    def issued(self, key: StageKey) -> StageKey:
        """An attempt is handed out; returns the one before it, which nobody needs any more."""
        former = StageKey(key.run_id, key.hop, key.item, key.attempt - 1)
        self._newest[key.effect_key] = key.attempt
        self._held.pop(former, None)
        return former

    def heard(self, report: Report) -> bool:
        """An agent spoke of an attempt. False when it spoke before it died, and its attempt died with it.

        Of an attempt that is not the newest it speaks late, and that counts for nothing. An end is an end, whoever is
        dead since.
        """
        key = report.payload.key
        if isinstance(report.payload, StageSucceeded | StageFailed):
            self.dropped(key)
        elif self._newest.get(key.effect_key) == key.attempt:
            self._held[key] = (report.agent, report.life)
            return report.life >= self._lives.get(report.agent, 0)
        return True

    def dropped(self, key: StageKey) -> None:
        """Nobody waits for the attempt any more."""
        self._held.pop(key, None)
        if self._newest.get(key.effect_key) == key.attempt:
            del self._newest[key.effect_key]

    def born(self, agent: str, life: int) -> None:
        """The agent has begun a new life."""
        self._lives[agent] = max(life, self._lives.get(agent, 0))

    def runs(self) -> list[RunId]:
        """Runs of which an agent holds something."""
        return list(dict.fromkeys(key.run_id for key in self._held))

    def lost(self, run_id: RunId, agent: str, life: int) -> list[StageKey]:
        """What the agent held of a run before its present life."""
        of_run = [(key, held) for key, held in self._held.items() if key.run_id == run_id]
        return [key for key, (held_by, held_in) in of_run if held_by == agent and held_in < life]
