"""Defines services that capabilities contribute to the bus of long-lived systems, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from runtime.bus.queries import QueryHandler
from runtime.database.store_part import AnyPart
from runtime.primitives.ids import Address

# Opens a part of the store for the service.
OpenPart = Callable[[AnyPart], Any]


class Service(Protocol):
    """Answers queries of the bus."""

    def queries(self) -> Mapping[str, QueryHandler]:
        """Return the handlers by type of query."""
        ...


class HostedService(msgspec.Struct, frozen=True):
    """Declares a service: its address, the types of its queries, and what opens it from plain settings.

    The system starts one process for it, and another one when that dies: what must outlive it belongs in the store.
    """

    address: Address
    queries: tuple[str, ...]
    open: Callable[[Mapping[str, Any], OpenPart], Service]
