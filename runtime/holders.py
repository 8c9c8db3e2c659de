"""Who holds which attempt, as a supervisor has heard it: what dies with a process is what that process held.

An attempt that nobody has spoken of is on its way, and is sent again until somebody does. From then on it belongs to
the life of the agent that took it up; a life is one process, named by whatever tells it from its successor. One that
was on its way when a process died may have been begun there, and may be why it died: it is lost, too.
"""

from __future__ import annotations

from runtime.ids import Address, RunId, StageKey


class Holders:
    """Attempts by the life that has taken them up."""

    def __init__(self) -> None:
        self._sent: dict[StageKey, Address] = {}
        self._held: dict[StageKey, tuple[Address, str]] = {}
        self._lives: dict[Address, str] = {}
        self._over: dict[Address, set[str]] = {}

    def sent(self, key: StageKey, address: Address) -> None:
        """An attempt is on its way to an agent."""
        self._sent[key] = address

    def heard(self, key: StageKey, address: Address, life: str, has_ended: bool) -> bool:
        """An agent spoke of an attempt. False when the life that spoke is over, and the attempt was lost with it.

        An end is an end, whoever is dead since.
        """
        if has_ended:
            self.dropped(key)
            return True
        if life in self._over.get(address, ()):
            return False
        self._sent.pop(key, None)
        self._held[key] = (address, life)
        return True

    def dropped(self, key: StageKey) -> None:
        """Nobody waits for the attempt any more."""
        self._sent.pop(key, None)
        self._held.pop(key, None)

    def lives(self, address: Address, life: str) -> dict[RunId, tuple[StageKey, ...]]:
        """The agent lives as `life` now; what its other lives had is lost: run → attempts. They are named once."""
        former = self._lives.get(address)
        self._lives[address] = life
        if former == life:
            return {}
        if former is not None:
            self._over.setdefault(address, set()).add(former)
        self._over.get(address, set()).discard(life)
        lost: dict[RunId, tuple[StageKey, ...]] = {}
        for key, (held_by, held_in) in list(self._held.items()):
            if held_by == address and held_in != life:
                self._over.setdefault(address, set()).add(held_in)
                lost[key.run_id] = (*lost.get(key.run_id, ()), key)
                del self._held[key]
        if former is not None:
            for key in [key for key, sent_to in self._sent.items() if sent_to == address]:
                lost[key.run_id] = (*lost.get(key.run_id, ()), key)
                del self._sent[key]
        return lost
