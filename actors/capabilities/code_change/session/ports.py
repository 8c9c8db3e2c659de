"""Declares what sessions are given: the store, the clock, folders, a model of meaning, a person."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from actors.capabilities.code_change.store.session_store import SessionStore
from runtime.codebase.git.commits import task_branches
from runtime.codebase.git.linked_trees import BRANCH_PREFIX
from runtime.contracts.session_state import SessionState
from runtime.primitives.clock import Clock

# query, names → name → likeness, 0 to 1; names without one are left out.
Similarities = Callable[[str, Sequence[str]], Awaitable[Mapping[str, float]]]
# A question to the person at the client: True, False, or None where the client cannot ask.
Confirm = Callable[[str], Awaitable[bool | None]]


async def no_similarities(query: str, names: Sequence[str]) -> Mapping[str, float]:
    """Return no likeness, as where no model of meaning is at hand."""
    return {}


async def nobody(question: str) -> bool | None:
    """Return that nobody can be asked."""
    return None


@dataclass(frozen=True, slots=True)
class Ports:
    """Holds what sessions work with. `work_trees`: the folder of work trees beside dirty folders.

    `owner` names this process; `is_alive` tells whether the process of another owner still runs.
    """

    store: SessionStore
    clock: Clock
    work_trees: Path
    owner: str
    is_alive: Callable[[str], bool]
    similarities: Similarities = no_similarities
    confirm: Confirm = field(default=nobody)

    def stale_of(self, state: SessionState) -> tuple[str, ...]:
        """Return the branches of sessions that no checkpoint can bring back, this session's aside."""
        return self.stale_in(state.repository)

    def stale_in(self, repository: str) -> tuple[str, ...]:
        """Return the branches of sessions in a repository that no checkpoint can bring back."""
        kept = {f"{BRANCH_PREFIX}{session_id}" for session_id in self.store.open_ids()}
        return tuple(branch for branch in task_branches(Path(repository)) if branch not in kept)
