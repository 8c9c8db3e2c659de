"""Tracks which supervisor drives each run, and rejects frames of replaced supervisors."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from actors.addresses import SUPERVISOR
from runtime.primitives.ids import Address, RunId


class RunOwners:
    """Remembers the address and the epoch of the newest owner of each run, for the last `capacity` runs.

    A run lies in one log and epochs rise with each take-over of that log, so they are compared run by run: a supervisor
    may drive runs of several logs.
    """

    def __init__(self, capacity: int, on_successor: Callable[[], None] = lambda: None) -> None:
        """`on_successor` is called once for each owner that takes over runs of another one."""
        self._capacity = capacity
        self._on_successor = on_successor
        self._successors: set[tuple[int, Address]] = set()
        self._owners: OrderedDict[RunId, tuple[int, Address]] = OrderedDict()

    def admit(self, run_id: RunId, epoch: int, supervisor: Address) -> bool:
        """Record the sender of a frame as the owner of its run; return False if a later one is known already."""
        owner, former = (epoch, supervisor), self._owners.get(run_id)
        if former is not None and epoch < former[0]:
            return False
        self._owners[run_id] = owner
        self._owners.move_to_end(run_id)
        if len(self._owners) > self._capacity:
            self._owners.popitem(last=False)
        if former is not None and former != owner and owner not in self._successors:
            self._successors.add(owner)
            self._on_successor()
        return True

    def address_of(self, run_id: RunId) -> Address:
        """Return the address that reports on a run go to; the first supervisor's for a run that is not remembered."""
        owner = self._owners.get(run_id)
        return SUPERVISOR if owner is None else owner[1]
