"""Detects processes that do not answer heartbeats.

Pure: the caller sends heartbeats, reports their results, and replaces the processes that hang. A process that is
stopped is not dead: only missed heartbeats show it. A process that died is no case of this: a heartbeat to it fails
with an error.
"""

from __future__ import annotations

from runtime.primitives.ids import Address

HEARTBEAT_S = 1.0
HANGS_AFTER_S = 6.0


class Heartbeats:
    """Tracks unanswered heartbeats. An address is not judged before its first answer, as starting up takes time.

    The successor of a process that answered needs no first answer: while it starts up it is unreachable.
    """

    def __init__(self, hangs_after_s: float = HANGS_AFTER_S) -> None:
        self._hangs_after_s = hangs_after_s
        self._asked_s: dict[Address, float] = {}
        self._known: set[Address] = set()

    def ask(self, address: Address, now_s: float) -> bool:
        """Return True if a heartbeat is to be sent now, which is then pending; False if one is pending already."""
        if address in self._asked_s:
            return False
        self._asked_s[address] = now_s
        return True

    def answered(self, address: Address) -> None:
        """Record an answer."""
        self._asked_s.pop(address, None)
        self._known.add(address)

    def unreachable(self, address: Address) -> None:
        """Record that a heartbeat could not be delivered, as when the process is being replaced."""
        self._asked_s.pop(address, None)

    def hanging(self, now_s: float) -> list[Address]:
        """Return the addresses whose heartbeat has been pending for `hangs_after_s`, each once per such time."""
        late = [
            address
            for address, asked_s in self._asked_s.items()
            if address in self._known and now_s - asked_s >= self._hangs_after_s
        ]
        for address in late:
            self._asked_s[address] = now_s
        return late
