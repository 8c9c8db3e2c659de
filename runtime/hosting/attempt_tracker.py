"""Tracks which agent process owns each stage attempt, and which attempts die with a process.

An attempt without a report is in flight, and is resent until there is one. From then on it belongs to the incarnation
of the agent that started it; an incarnation is one process, with an id that differs from its successor's. An attempt
that was in flight when a process died may have been started there, and may be why it died: it is lost, too.
"""

from __future__ import annotations

from runtime.primitives.ids import Address, RunId, StageKey

INCARNATIONS_REMEMBERED = 100


class AttemptTracker:
    """Tracks issued attempts that have not ended, by the incarnation that started them."""

    def __init__(self) -> None:
        self._newest: dict[tuple[RunId, int, int], int] = {}
        self._sent: dict[Address, dict[StageKey, None]] = {}
        self._sent_to: dict[StageKey, Address] = {}
        self._holder: dict[StageKey, tuple[Address, str]] = {}
        self._held: dict[Address, dict[str, dict[StageKey, None]]] = {}
        self._incarnations: dict[Address, str] = {}
        self._over: dict[Address, dict[str, None]] = {}

    def on_issue(self, key: StageKey) -> StageKey:
        """Record that an attempt is issued; return the one before it, which is no longer needed."""
        former = StageKey(key.run_id, key.hop, key.item, key.attempt - 1)
        if former.attempt:
            self._forget_holder(former)
        self._newest[_visit(key)] = key.attempt
        return former

    def on_send(self, key: StageKey, address: Address) -> None:
        """Record that an attempt is in flight to an agent; if the agent dies, the attempt is lost, too."""
        self._newest.setdefault(_visit(key), key.attempt)
        self._sent_to[key] = address
        self._sent.setdefault(address, {})[key] = None

    def on_report(self, key: StageKey, address: Address, incarnation: str, has_ended: bool) -> bool:
        """Record a report on an attempt. Return False if its incarnation is over, and the attempt lost with it.

        A late report on an attempt that is no longer awaited changes nothing. A report of the end always counts, even
        from an incarnation that is over.
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
        """Stop tracking an attempt that is no longer awaited."""
        self._forget_holder(key)
        if self._newest.get(_visit(key)) == key.attempt:
            del self._newest[_visit(key)]

    def on_incarnation(self, address: Address, incarnation: str) -> dict[RunId, tuple[StageKey, ...]]:
        """Record the current incarnation of an agent; return the attempts lost with earlier ones, by run, once each.

        Attempts in flight to an agent that has died are lost as well: they may have arrived without a report.
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
        """Return the number of attempts that are awaited."""
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
    """Return the visit of an attempt: run, hop and item."""
    return key.run_id, key.hop, key.item
