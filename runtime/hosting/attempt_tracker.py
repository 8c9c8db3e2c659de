"""Who holds which attempt, as a supervisor has heard it: what dies with a process is what that process held.

An attempt that nobody has spoken of is on its way, and is sent again until somebody does. From then on it belongs to
the life of the agent that took it up; a life is one process, named by whatever tells it from its successor. One that
was on its way when a process died may have been begun there, and may be why it died: it is lost, too.
"""

from __future__ import annotations

from runtime.primitives.ids import Address, RunId, StageKey

LIVES_REMEMBERED = 100


class Holders:
    """Attempts that were handed out and have not ended, by the life that has taken them up."""

    def __init__(self) -> None:
        self._newest: dict[str, int] = {}
        self._sent: dict[Address, dict[StageKey, None]] = {}
        self._sent_to: dict[StageKey, Address] = {}
        self._holder: dict[StageKey, tuple[Address, str]] = {}
        self._held: dict[Address, dict[str, dict[StageKey, None]]] = {}
        self._lives: dict[Address, str] = {}
        self._over: dict[Address, dict[str, None]] = {}

    def issued(self, key: StageKey) -> StageKey:
        """An attempt is handed out; returns the one before it, which nobody needs any more."""
        former = StageKey(key.run_id, key.hop, key.item, key.attempt - 1)
        self._release(former)
        self._newest[key.effect_key] = key.attempt
        return former

    def sent(self, key: StageKey, address: Address) -> None:
        """An attempt is on its way to an agent: should that die, it may have been what it died of."""
        self._newest.setdefault(key.effect_key, key.attempt)
        self._sent_to[key] = address
        self._sent.setdefault(address, {})[key] = None

    def heard(self, key: StageKey, address: Address, life: str, has_ended: bool) -> bool:
        """An agent spoke of an attempt. False when the life that spoke is over, and the attempt was lost with it.

        Of an attempt that nobody waits for any more it speaks late, and that counts for nothing. An end is an end,
        whoever is dead since.
        """
        if has_ended:
            self.dropped(key)
        elif self._newest.get(key.effect_key) == key.attempt:
            if life in self._over.get(address, ()):
                self.dropped(key)
                return False
            self._release(key)
            self._holder[key] = (address, life)
            self._held.setdefault(address, {}).setdefault(life, {})[key] = None
        return True

    def dropped(self, key: StageKey) -> None:
        """Nobody waits for the attempt any more."""
        self._release(key)
        if self._newest.get(key.effect_key) == key.attempt:
            del self._newest[key.effect_key]

    def lives(self, address: Address, life: str) -> dict[RunId, tuple[StageKey, ...]]:
        """The agent lives as `life` now; what its other lives had is lost: run → attempts. They are named once.

        What was on its way to an agent that has died is lost as well: it may have arrived, and not have been spoken of.
        """
        former, self._lives[address] = self._lives.get(address, life), life
        held = dict(self._held.get(address, {}))
        over = self._over.setdefault(address, {})
        over.update(dict.fromkeys(other for other in (former, *held) if other != life))
        over.pop(life, None)
        while len(over) > LIVES_REMEMBERED:
            del over[next(iter(over))]
        gone = [key for other, keys in held.items() if other != life for key in keys]
        if former != life:
            gone += self._sent.get(address, ())
        lost: dict[RunId, tuple[StageKey, ...]] = {}
        for key in gone:
            lost[key.run_id] = (*lost.get(key.run_id, ()), key)
            self.dropped(key)
        return lost

    def __len__(self) -> int:
        """How many attempts somebody waits for."""
        return len(self._newest)

    def _release(self, key: StageKey) -> None:
        sent_to = self._sent_to.pop(key, None)
        if sent_to is not None:
            del self._sent[sent_to][key]
        if key not in self._holder:
            return
        address, life = self._holder.pop(key)
        held = self._held[address]
        del held[life][key]
        if not held[life]:
            del held[life]
        if not held:
            del self._held[address]
