"""Who has not answered for too long. Pure: the host asks, tells what came back, and replaces whom this names.

A process that is stopped is not dead: nobody but its neighbours notices. One that died is none of this: whoever is
asked gets an error then, not silence.
"""

from __future__ import annotations

from runtime.primitives.ids import Address

HEARTBEAT_S = 1.0
HANGS_AFTER_S = 6.0


class Heartbeats:
    """Questions that have no answer yet. Nobody is judged before the first answer: starting up takes its time.

    The process that follows one that answered needs no first answer: while it starts up it cannot be asked at all.
    """

    def __init__(self, hangs_after_s: float = HANGS_AFTER_S) -> None:
        self._hangs_after_s = hangs_after_s
        self._asked_s: dict[Address, float] = {}
        self._known: set[Address] = set()

    def ask(self, address: Address, now_s: float) -> bool:
        """True when the address is to be asked now: it owes no answer."""
        if address in self._asked_s:
            return False
        self._asked_s[address] = now_s
        return True

    def answered(self, address: Address) -> None:
        """It lives."""
        self._asked_s.pop(address, None)
        self._known.add(address)

    def unreachable(self, address: Address) -> None:
        """It cannot be asked right now, as when its process is being replaced."""
        self._asked_s.pop(address, None)

    def hanging(self, now_s: float) -> list[Address]:
        """Who has been asked longer ago than a living process would take to answer, each named once in such a time."""
        late = [
            address
            for address, asked_s in self._asked_s.items()
            if address in self._known and now_s - asked_s >= self._hangs_after_s
        ]
        for address in late:
            self._asked_s[address] = now_s
        return late
