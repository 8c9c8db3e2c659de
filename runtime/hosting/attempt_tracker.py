"""Tracks which process of an agent owns each stage attempt: what dies with a process is what that process held.

An attempt that nobody has spoken of is on its way, and is sent again until somebody does. From then on it belongs to
the incarnation of the agent that took it up; an incarnation is one process, named by whatever tells it from its
successor. One that was on its way when a process died may have been begun there, and may be why it died: it is lost,
too.
"""

from __future__ import annotations

from runtime.primitives.ids import Address, RunId, StageKey

INCARNATIONS_REMEMBERED = 100


class AttemptTracker:
    """Attempts that were handed out and have not ended, by the incarnation that has taken them up."""

    def __init__(self) -> None:
        self._newest: dict[tuple[RunId, int, int], int] = {}
        self._sent: dict[Address, dict[StageKey, None]] = {}
        self._sent_to: dict[StageKey, Address] = {}
        self._holder: dict[StageKey, tuple[Address, str]] = {}
        self._held: dict[Address, dict[str, dict[StageKey, None]]] = {}
        self._incarnations: dict[Address, str] = {}
        self._over: dict[Address, dict[str, None]] = {}

    def on_issue(self, key: StageKey) -> StageKey:
        """An attempt is handed out; returns the one before it, which nobody needs any more."""
        former = StageKey(key.run_id, key.hop, key.item, key.attempt - 1)
        if former.attempt:
            self._forget_holder(former)
        self._newest[_visit(key)] = key.attempt
        return former

    def on_send(self, key: StageKey, address: Address) -> None:
        """An attempt is on its way to an agent: should that die, it may have been what it died of."""
        self._newest.setdefault(_visit(key), key.attempt)
        self._sent_to[key] = address
        self._sent.setdefault(address, {})[key] = None

    def on_report(self, key: StageKey, address: Address, incarnation: str, has_ended: bool) -> bool:
        """An agent spoke of an attempt. False when the incarnation that spoke is over, and the attempt lost with it.

        Of an attempt that nobody waits for any more it speaks late, and that counts for nothing. An end is an end,
        whoever is dead since.
        """
        if has_ended:
            self.release(key)
        elif self._newest.get(_visit(key)) == key.attempt:
            if incarnation in self._over.get(address, ()):
                self.release(key)
                return False
            self._forget_holder(key)
            self._holder[key] = (address, incarnation)
            self._held.setdefault(address, {}).setdefault(incarnation, {})[key] = None
        return True

    def release(self, key: StageKey) -> None:
        """Nobody waits for the attempt any more."""
        self._forget_holder(key)
        if self._newest.get(_visit(key)) == key.attempt:
            del self._newest[_visit(key)]

    def on_incarnation(self, address: Address, incarnation: str) -> dict[RunId, tuple[StageKey, ...]]:
        """The agent lives as `incarnation` now; what its other ones had is lost: run → attempts. They are named once.

        What was on its way to an agent that has died is lost as well: it may have arrived, and not have been spoken of.
        """
        former, self._incarnations[address] = self._incarnations.get(address, incarnation), incarnation
        held = dict(self._held.get(address, {}))
        over = self._over.setdefault(address, {})
        over.update(dict.fromkeys(other for other in (former, *held) if other != incarnation))
        over.pop(incarnation, None)
        while len(over) > INCARNATIONS_REMEMBERED:
            del over[next(iter(over))]
        gone = [key for other, keys in held.items() if other != incarnation for key in keys]
        if former != incarnation:
            gone += self._sent.get(address, ())
        lost: dict[RunId, tuple[StageKey, ...]] = {}
        for key in gone:
            lost[key.run_id] = (*lost.get(key.run_id, ()), key)
            self.release(key)
        return lost

    def __len__(self) -> int:
        """How many attempts somebody waits for."""
        return len(self._newest)

    def _forget_holder(self, key: StageKey) -> None:
        sent_to = self._sent_to.pop(key, None)
        if sent_to is not None:
            del self._sent[sent_to][key]
        if key not in self._holder:
            return
        address, incarnation = self._holder.pop(key)
        held = self._held[address]
        del held[incarnation][key]
        if not held[incarnation]:
            del held[incarnation]
        if not held:
            del self._held[address]


def _visit(key: StageKey) -> tuple[RunId, int, int]:
    """What all attempts of a visit have in common."""
    return key.run_id, key.hop, key.item
