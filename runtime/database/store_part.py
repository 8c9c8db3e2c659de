"""What a part of the store is: one declaration, from which opening, the bus, `jeeves gc` and `jeeves doctor` follow.

A part declares itself at the end of the module that keeps it. The kernel's are listed in `runtime.store.parts`; others
are contributed by whoever puts a system together. How to add one: docs/guides/add-a-store.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from runtime.bus.queries import QueryHandler
from runtime.database.database import Database, Schema
from runtime.primitives.clock import Clock
from runtime.primitives.ids import RunId

Opened = TypeVar("Opened")


class Counted(msgspec.Struct, frozen=True):
    """Something that retention counts: its key in the report, and how one and several of them are called."""

    key: str
    one: str
    several: str


class SweepTask(msgspec.Struct, frozen=True):
    """What retention asks of a part: forget what was last touched before `before_ms` (exclusive).

    `is_dry` only counts. `database` is the name of the database at hand, `can_remove` whether it can go as a whole.
    Tasks of queues whose names begin with `disposable_queues` go as well when nobody works on them.
    """

    database: str
    before_ms: int
    now_ms: int
    is_dry: bool
    can_remove: bool
    disposable_queues: str
    unfinished_runs: Callable[[], set[RunId]]


class Dropped(msgspec.Struct, frozen=True):
    """What went, or would go: how much by key, whether room may come back, and whether the whole database is spent."""

    counts: Mapping[str, int]
    leaves_room: bool
    is_spent: bool = False


class StorePart(msgspec.Struct, Generic[Opened], frozen=True):
    """One part of the store.

    `name`: its file NAME.sqlite, or the schema that ends so; of a family (`is_family`) the folder, or the prefix, of
    its databases. `label`: how errors call it. `open`: the store over an open database. `shares`: the name of the part
    in whose database it lives. `queries`: the message types that `handlers` answers for agents. `counted` and `sweep`:
    what retention drops of it.
    """

    name: str
    label: str
    schema: Schema
    open: Callable[[Database, Clock], Opened]
    is_family: bool = False
    shares: str | None = None
    queries: tuple[str, ...] = ()
    handlers: Callable[[Opened], Mapping[str, QueryHandler]] | None = None
    counted: tuple[Counted, ...] = ()
    sweep: Callable[[Opened, SweepTask], Dropped] | None = None

    @property
    def database(self) -> str:
        """The name of the database that it lives in."""
        return self.shares or self.name


AnyPart = StorePart[Any]


class Forgetful(Protocol):
    """A store that knows what was not touched for long, and how much that is."""

    def unused(self, before_ms: int) -> int:
        """How much was last touched before `before_ms`."""

    def drop_unused(self, before_ms: int) -> int:
        """Forget what `unused` counts; how much that was."""


def sweep_unused(key: str) -> Callable[[Forgetful, SweepTask], Dropped]:
    """The sweep of a store that forgets row by row, counted under `key`."""

    def sweep(store: Forgetful, task: SweepTask) -> Dropped:
        act = store.unused if task.is_dry else store.drop_unused
        count = act(task.before_ms)
        return Dropped({key: count}, count > 0)

    return sweep
