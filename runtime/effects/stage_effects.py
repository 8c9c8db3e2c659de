"""Makes a stage's calls with effects outside the run once, whichever process dies.

The rules for each kind of tool are in `runtime.effects.journal`; `runtime.effects.remote_journal` reaches the journal
by queries.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from runtime.effects.journal import Declaration, EffectKey, JournalRecord, effect_key, resolve
from runtime.errors import EffectInDoubtError
from runtime.primitives.ids import StageKey

Make = Callable[[], Awaitable[bytes | None]]


class AsyncJournal(Protocol):
    """Accesses the journal, wherever it is stored. Each method raises what the journal raises."""

    async def begin(self, key: StageKey, by: str) -> bool:
        """See `runtime.effects.journal.Journal.begin`."""

    async def find(self, key: EffectKey) -> JournalRecord | None:
        """See `runtime.effects.journal.Journal.find`."""

    async def intend(self, key: EffectKey, attempt: int) -> None:
        """See `runtime.effects.journal.Journal.intend`."""

    async def done(self, key: EffectKey, result: bytes) -> None:
        """See `runtime.effects.journal.Journal.done`."""


class StageEffects:
    """Makes the calls of one attempt, numbered in order."""

    def __init__(self, journal: AsyncJournal, key: StageKey) -> None:
        self._journal = journal
        self._key = key
        self._calls = 0

    async def once(
        self, request: bytes, declaration: Declaration, make: Make, check: Make | None = None
    ) -> bytes | None:
        """Return the result of the call, made now or by an earlier attempt of this visit.

        `make` returns None when it cannot tell whether the call was made, as after a timeout: then it stays in doubt.
        `check` finds out whether an earlier attempt made it, and returns its result, or None.

        Raises EffectInDoubtError when that cannot be found out and a person has to decide, FencedError when a newer
        attempt has begun, and StateStorageError; nothing was called then.
        """
        self._calls += 1
        key = effect_key(self._key, self._calls, request)
        resolution = resolve(await self._journal.find(key), declaration)
        if resolution.action == "reuse":
            return resolution.result
        if resolution.action == "ask" or (resolution.action == "check" and check is None):
            raise EffectInDoubtError(
                f"call {key.call} of hop {key.hop} of run {key.run_id} may have been made by an earlier attempt or not;"
                " look whether it was, then let the stage run again or end the run",
                run_id=key.run_id,
                hop=key.hop,
                call=key.call,
            )
        if resolution.action == "check" and check is not None:
            found = await check()
            if found is not None:
                await self._journal.done(key, found)
                return found
        await self._journal.intend(key, self._key.attempt)
        result = await make()
        if result is not None:
            await self._journal.done(key, result)
        return result
