"""Defines queries, an agent's only access to services outside its process, and encodes their errors.

On Ray a query is a request frame and a reply frame on the bus; in one process it is a call. Bodies are MessagePack.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from runtime.errors import DuplicateHandlerError, JeevesError, NoHandlerError, QueryTimeoutError

QueryHandler = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]

DEFAULT_QUERY_TIMEOUT_S = 30.0
INTERNAL = "internal"


class QueryClient(Protocol):
    """Asks the handler of a message type."""

    async def query(
        self, type_: str, body: dict[str, Any], timeout_s: float = DEFAULT_QUERY_TIMEOUT_S
    ) -> dict[str, Any]:
        """Return the handler's answer. Raises NoHandlerError, QueryTimeoutError, or the handler's error."""


class LocalQueries:
    """Answers queries in this process."""

    def __init__(self) -> None:
        self._handlers: dict[str, QueryHandler] = {}

    def register(self, handlers: Mapping[str, QueryHandler]) -> None:
        """Register handlers by message type. Raises DuplicateHandlerError when a type has one."""
        for type_, handler in handlers.items():
            if type_ in self._handlers:
                raise DuplicateHandlerError(f"message type '{type_}' has a handler already", type=type_)
            self._handlers[type_] = handler

    async def query(
        self, type_: str, body: dict[str, Any], timeout_s: float = DEFAULT_QUERY_TIMEOUT_S
    ) -> dict[str, Any]:
        """Return the handler's answer. Raises NoHandlerError and QueryTimeoutError."""
        handler = self._handlers.get(type_)
        if handler is None:
            raise NoHandlerError(f"nobody handles '{type_}'; known: {', '.join(sorted(self._handlers))}", type=type_)
        try:
            async with asyncio.timeout(timeout_s) as limit:
                return await handler(body)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise QueryTimeoutError(f"no answer to '{type_}' within {timeout_s:g} s", type=type_) from error


def error_code(error: Exception) -> str:
    """Return the code under which an error travels."""
    return error.code if isinstance(error, JeevesError) else INTERNAL


def error_to_wire(error: Exception) -> dict[str, Any]:
    """Return the parts of an error that a reply carries: code, message, and those of its values that are plain data."""
    if not isinstance(error, JeevesError):
        return {"code": INTERNAL, "message": f"{type(error).__name__}: {error}"}
    parts: dict[str, Any] = {"code": error.code, "message": error.message}
    values = {name: value for name, value in error.values.items() if _is_plain(value)}
    return parts | {"values": values} if values else parts


def error_from_wire(parts: Mapping[str, Any]) -> JeevesError:
    """Rebuild the error that `error_to_wire` took apart, as the class of its code."""
    return class_of_code(parts["code"])(parts["message"], **parts.get("values", {}))


def class_of_code(code: str) -> type[JeevesError]:
    """Return the class of errors that travel under `code`; the root of the tree for foreign codes."""
    return _CLASS_OF_CODE.get(code, JeevesError)


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(_is_plain(part) for part in value)
    return value is None or isinstance(value, str | bool | int | float)


def _all_subclasses(kind: type[JeevesError]) -> list[type[JeevesError]]:
    return [kind, *(deeper for child in kind.__subclasses__() for deeper in _all_subclasses(child))]


_CLASS_OF_CODE = {kind.code: kind for kind in _all_subclasses(JeevesError)}
