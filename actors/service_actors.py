"""The index and the store as actors: services on the bus that answer queries of agents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from actors.addresses import INDEX, STORE
from actors.participant import Participant
from actors.ray_transport import RayTransport
from actors.restarts import retry_while_unavailable, was_restarted
from runtime.bus.endpoint import Endpoint
from runtime.codebase.index.service import IndexService
from runtime.codebase.index.writer import IndexOptions
from runtime.effects.journal import JOURNAL_QUERIES
from runtime.effects.remote_journal import journal_queries
from runtime.memory.earlier_answers import MEMORY_QUERIES, MemoryStore, memory_queries
from runtime.memory.entity_relations import RELATION_QUERIES, relation_queries
from runtime.memory.sessions import session_queries
from runtime.memory.tool_metrics import TOOL_METRIC_QUERIES, tool_metric_queries
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import Address
from runtime.store.opening import StoreOptions, open_store

# What each service answers: told to the bus before the service is there, so that early questions wait for it.
QUERIES_OF: dict[Address, tuple[str, ...]] = {
    INDEX: ("index.refresh",),
    STORE: (
        *("session.turns", "session.append", "session.keep_state"),
        *(*JOURNAL_QUERIES, *MEMORY_QUERIES, *RELATION_QUERIES, *TOOL_METRIC_QUERIES),
    ),
}


class IndexActor(Participant):
    """The one writer of code indexes."""

    def __init__(self, folder: str, options: dict[str, Any]) -> None:
        super().__init__()
        self._service = IndexService(Path(folder), msgspec.convert(options, IndexOptions))
        self.endpoint = Endpoint(INDEX, RayTransport(), SystemClock(), queries=self._service.queries())
        self.endpoint.bind()

    async def refresh(self, root: str) -> dict[str, Any]:
        """Start indexing before a run asks for it; doors call this while the other actors come up."""
        return await self._service.refresh(root)

    async def progress(self, root: str) -> tuple[int, int]:
        """Files done and files in all of the refresh under way."""
        progress = self._service.progress(root)
        return progress.done, progress.total


class StoreActor(Participant):
    """Sessions, memory and the journal of effects, for every agent that asks."""

    def __init__(self, options: dict[str, Any]) -> None:
        super().__init__()
        clock = SystemClock()
        stores = open_store(msgspec.convert(options, StoreOptions), clock)
        follows = was_restarted()
        sessions = retry_while_unavailable(stores.sessions, follows)
        journal = retry_while_unavailable(stores.journal, follows)
        memory = MemoryStore(retry_while_unavailable(stores.cache, follows), clock)
        relations = retry_while_unavailable(stores.relations, follows)
        queries = {
            **session_queries(sessions),
            **journal_queries(journal),
            **memory_queries(memory),
            **relation_queries(relations),
            **tool_metric_queries(retry_while_unavailable(stores.tool_metrics, follows)),
        }
        self.endpoint = Endpoint(STORE, RayTransport(), clock, queries=queries)
        self.endpoint.bind()
