"""Defines the declaration of a part of the store.

Opening, queries on the bus, `jeeves gc` and `jeeves doctor` follow from it. A part is declared at the end of the module
that implements it. The kernel's parts are listed in `runtime.store.parts`; others are contributed by name. How to add
one: docs/guides/add-a-store.md.
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
    """Names something that retention counts: its key in the report, singular and plural."""

    key: str
    one: str
    several: str


class SweepTask(msgspec.Struct, frozen=True):
    """Orders a part to drop data last used before `before_ms` (exclusive).

    With `is_dry` it only counts. `database` names the database; `can_remove`: the backend can remove it. Tasks of
    queues whose names begin with `disposable_queues` are dropped as well if no worker is active there.
    """

    database: str
    before_ms: int
    now_ms: int
    is_dry: bool
    can_remove: bool
    disposable_queues: str
    unfinished_runs: Callable[[], set[RunId]]


class Dropped(msgspec.Struct, frozen=True):
    """Reports what was dropped, or would be: counts by key, whether to compact the database, whether to remove it."""

    counts: Mapping[str, int]
    leaves_room: bool
    is_spent: bool = False


class StorePart(msgspec.Struct, Generic[Opened], frozen=True):
    """Declares one part of the store.

    `name`: its file NAME.sqlite, or the schema that ends so; of a family (`is_family`) the folder, or the prefix, of
    its databases. `label`: its name in errors. `open`: returns the store over an open database. `shares`: the name of
    the part in whose database it lives. `queries`: the message types that `handlers` answers for agents. `counted` and
    `sweep`: the counts that retention reports, and the function that drops old data. `is_disposable`: its data can be
    recreated, so that a damaged file is set aside and made anew; its store has methods only. `cost_of_loss`: what the
    loss of a disposable part's content means, for the log.
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
    is_disposable: bool = False
    cost_of_loss: str = "its content"

    @property
    def database(self) -> str:
        """The name of the database that the part lives in."""
        return self.shares or self.name


AnyPart = StorePart[Any]


class Forgetful(Protocol):
    """Counts and drops rows by the time of their last use."""

    def unused(self, before_ms: int) -> int:
        """Return how many rows were last used before `before_ms`."""

    def drop_unused(self, before_ms: int) -> int:
        """Delete the rows that `unused` counts and return their number."""


def sweep_unused(key: str) -> Callable[[Forgetful, SweepTask], Dropped]:
    """Return the sweep of a store whose rows are dropped one by one, counted under `key`."""

    def sweep(store: Forgetful, task: SweepTask) -> Dropped:
        act = store.unused if task.is_dry else store.drop_unused
        count = act(task.before_ms)
        return Dropped({key: count}, count > 0)

    return sweep
