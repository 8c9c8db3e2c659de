"""Runs services on the bus as actors: the index, the store, and those that capabilities contribute."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from actors.addresses import INDEX, STORE
from actors.links.doors import Door, LinksBy
from actors.links.request_door import RequestDoor
from actors.participant import Participant
from actors.restarts import retry_while_unavailable, was_restarted
from runtime.agents.hosted_service import HostedService
from runtime.bus.endpoint import Endpoint
from runtime.codebase.index.progress import Progress
from runtime.database.store_part import AnyPart
from runtime.hosting.limits.limits_service import LIMIT_QUERIES, Limits, LimitsService
from runtime.llm.places import PLACE_QUERIES, PlaceService
from runtime.memory.usage_log import USAGE
from runtime.primitives.clock import SystemClock
from runtime.primitives.declared import declared
from runtime.primitives.ids import Address
from runtime.store.opening import open_store, store_queries
from runtime.store.options import StoreOptions
from runtime.store.parts import all_parts


def service_queries(store_parts: Sequence[str]) -> dict[Address, tuple[str, ...]]:
    """Return the queries of each service. The bus gets them before the services are up, so that early queries wait.

    `store_parts` are the contributed parts of the store, as "module:NAME". Raises SettingsError.
    """
    stored = tuple(query for part in all_parts(store_parts) for query in part.queries)
    return {INDEX: ("index.refresh",), STORE: (*stored, *PLACE_QUERIES, *LIMIT_QUERIES)}


class IndexActor(Participant):
    """Writes code indexes, as their only writer, and answers refresh queries."""

    def __init__(self, folder: str, options: dict[str, Any], links: LinksBy = False) -> None:
        # The processes of the other services have this module, too, and never need the index.
        from runtime.codebase.index.service import IndexService
        from runtime.codebase.index.writer import IndexOptions
        from runtime.codebase.semantics.embedding_process import embedding_process

        super().__init__()
        indexing = msgspec.convert(options, IndexOptions)
        embedding = embedding_process(Path(folder), embeds=indexing.embeds, store=indexing.vector_store)
        self._service = IndexService(Path(folder), indexing, embedding)
        self._service.prepare()
        self._door = RequestDoor({"refresh": self.refresh}, links)
        self.endpoint = Endpoint(INDEX, self.transport, SystemClock(), queries=self._service.queries())
        self.endpoint.bind()

    async def door(self, node: str | None = None) -> tuple[str, Door] | None:
        """Return a new address and where to connect under it, for a caller on that machine; None without links."""
        return await self._door.door_for(node)

    async def refresh(self, root: str, timeout_s: float | None = None) -> dict[str, Any]:
        """Index a repository before a run needs it; front ends call this while the other actors start."""
        return await self._service.refresh(root, timeout_s)

    async def progress(self, root: str) -> Progress:
        """Return the progress of the current refresh of a repository; zeros when there is none."""
        return self._service.progress(root)


class ServiceActor(Participant):
    """Runs a service that a capability contributes, by name ("module:NAME")."""

    def __init__(self, spec: str, settings: dict[str, Any], store: dict[str, Any]) -> None:
        super().__init__()
        service = hosted(spec)
        clock = SystemClock()
        stores = open_store(msgspec.convert(store, StoreOptions), clock)
        follows = was_restarted()
        opened = retry_while_unavailable(lambda: service.open(settings, stores.part), follows)
        self.endpoint = Endpoint(service.address, self.transport, clock, queries=opened.queries())
        self.endpoint.bind()


def hosted(spec: str) -> HostedService:
    """Return the declaration of a service. Raises SettingsError."""
    return declared(spec, HostedService, "service")


class StoreActor(Participant):
    """Answers the queries of all parts of the store, and counts what is limited over all processes of the system.

    That is the rates and daily quotas of principals, and the places of models.
    """

    def __init__(
        self,
        options: dict[str, Any],
        parts: Sequence[str] = (),
        limits: dict[str, Any] | None = None,
        links: LinksBy = False,
    ) -> None:
        """Open the parts and bind the endpoint. `parts`: those contributed to the kernel's own, as "module:NAME"."""
        super().__init__()
        clock = SystemClock()
        stores = open_store(msgspec.convert(options, StoreOptions), clock)
        follows = was_restarted()

        def opened(part: AnyPart) -> object:
            return retry_while_unavailable(lambda: stores.part(part), follows)

        self._places = PlaceService(clock, follows)
        usage_log = retry_while_unavailable(lambda: stores.part(USAGE), follows)
        self._limits = LimitsService(msgspec.convert(limits or {}, Limits), clock, usage_log)
        self._keeping: asyncio.Task[None] | None = None
        self._door = RequestDoor({"take": self.take}, links)
        queries = store_queries(all_parts(parts), opened) | self._places.queries() | self._limits.queries()
        self.endpoint = Endpoint(STORE, self.transport, clock, queries=queries)
        self.endpoint.bind()

    async def stay_alive(self, door: Door | None = None) -> None:
        """Keep what is counted in the store meanwhile; never return, as the bus holds this call."""
        self._keeping = self._keeping or asyncio.create_task(self._limits.keep())
        await super().stay_alive(door)

    async def door(self, node: str | None = None) -> tuple[str, Door] | None:
        """Return a new address and where to connect under it, for a caller on that machine; None without links."""
        return await self._door.door_for(node)

    async def take(self, user_id: str, endpoint: str) -> list[dict[str, Any]]:
        """Count a request of a principal, and return how far it is from its rate limits: each a `RateState`, plain.

        Raises RateLimitedError.
        """
        return [msgspec.to_builtins(state) for state in self._limits.take(user_id, endpoint)]

    async def keep_usage(self) -> None:
        """Write what was counted to the store, at an orderly shutdown."""
        await self._limits.keep_now()

    async def places(self) -> dict[str, tuple[int, int, int]]:
        """Return for each deployment in use the places that are held, all of its places, and the calls that wait."""
        return self._places.counts()
