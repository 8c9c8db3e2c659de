"""What really happened, counted by the world: whoever checks a run against its bounds does not ask the run.

Calls count when they are made, by whichever attempt; effects stay with the outside world, whoever dies.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable

from runtime.effects.journal import Declaration, EffectKey
from runtime.primitives.ids import RunId, StageKey
from runtime.simulator.world import Process


class RunBook:
    """What one run really spent. `refusals`: calls that the run had no room for; `asked_again`: for grants."""

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
        """Visits that an agent began."""
        return {key.hop for key in self.begun}


class Books:
    """The books of all runs. `on_effect` is told of each effect right after it happened, with its number from 1."""

    def __init__(self, on_effect: Callable[[int, Process], None]) -> None:
        self.runs: defaultdict[RunId, RunBook] = defaultdict(RunBook)
        self.effects: dict[EffectKey, int] = {}
        self.declarations: dict[EffectKey, Declaration] = {}
        self.effects_made = 0
        self._on_effect = on_effect

    def begun(self, key: StageKey) -> None:
        """An agent began an attempt."""
        self.runs[key.run_id].begun[key] += 1

    def called_model(self, key: StageKey, tokens: int) -> None:
        """A model call was made."""
        book = self.runs[key.run_id]
        book.llm_calls += 1
        book.tokens += tokens

    def refused(self, key: StageKey) -> None:
        """A stage was told that the run has no room for its call."""
        self.runs[key.run_id].refusals += 1

    def asked_again(self, key: StageKey) -> None:
        """A stage had no answer to what it asked for, and asked once more."""
        self.runs[key.run_id].asked_again += 1

    def reported_call(self, key: StageKey) -> None:
        """An agent told the supervisor of a tool call (for the first time)."""
        self.runs[key.run_id].reported_calls += 1

    def was_made(self, key: EffectKey) -> bool:
        """Whether the outside world has seen this effect."""
        return key in self.effects

    def made(self, key: EffectKey, declaration: Declaration, by: Process) -> None:
        """The outside world was changed."""
        self.runs[key.run_id].tool_calls += 1
        self.effects[key] = self.effects.get(key, 0) + 1
        self.declarations[key] = declaration
        self.effects_made += 1
        self._on_effect(self.effects_made, by)
