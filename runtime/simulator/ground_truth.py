"""Counts the calls and effects that really happened, independent of the usage that runs record.

Calls count when they are made, by whichever attempt; effects stay in the outside world when processes die.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable

from runtime.effects.journal import Declaration, EffectKey
from runtime.primitives.ids import RunId, StageKey
from runtime.simulator.world import Process


class RunBook:
    """Counts the real usage of one run. `refusals`: of calls, by its budget; `asked_again`: repeated grant requests."""

    def __init__(self) -> None:
        self.llm_calls = 0
        self.tokens = 0
        self.tool_calls = 0
        self.reported_calls = 0
        self.refusals = 0
        self.asked_again = 0
        self.begun: Counter[StageKey] = Counter()

    @property
    def hops(self) -> set[int]:
        """The hops of the visits that an agent began."""
        return {key.hop for key in self.begun}


class Books:
    """Counts calls and effects of all runs. `on_effect` is called after each effect, with its number from 1."""

    def __init__(self, on_effect: Callable[[int, Process], None]) -> None:
        self.runs: defaultdict[RunId, RunBook] = defaultdict(RunBook)
        self.effects: dict[EffectKey, int] = {}
        self.declarations: dict[EffectKey, Declaration] = {}
        self.effects_made = 0
        self._on_effect = on_effect

    def begun(self, key: StageKey) -> None:
        """Count an attempt that an agent began."""
        self.runs[key.run_id].begun[key] += 1

    def called_model(self, key: StageKey, tokens: int) -> None:
        """Count a model call and its tokens."""
        book = self.runs[key.run_id]
        book.llm_calls += 1
        book.tokens += tokens

    def refused(self, key: StageKey) -> None:
        """Count a call that was refused for lack of budget."""
        self.runs[key.run_id].refusals += 1

    def asked_again(self, key: StageKey) -> None:
        """Count a budget request that a stage repeated because no grant came."""
        self.runs[key.run_id].asked_again += 1

    def reported_call(self, key: StageKey) -> None:
        """Count a tool call when an agent reports it to the supervisor for the first time."""
        self.runs[key.run_id].reported_calls += 1

    def was_made(self, key: EffectKey) -> bool:
        """Return whether this effect has happened."""
        return key in self.effects

    def made(self, key: EffectKey, declaration: Declaration, by: Process) -> None:
        """Count an effect on the outside world."""
        self.runs[key.run_id].tool_calls += 1
        self.effects[key] = self.effects.get(key, 0) + 1
        self.declarations[key] = declaration
        self.effects_made += 1
        self._on_effect(self.effects_made, by)
