"""Runs tools in worker processes, which are killed with their children when called off.

Neither the tool nor its subject can be passed to another process: both are named, and opened there. A process serves
one call after another and keeps the subjects of its latest calls open, so that a later call takes milliseconds.
"""

from __future__ import annotations

import asyncio
import importlib
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, Protocol, runtime_checkable

import msgspec

from runtime.errors import ToolFailedError
from runtime.processes.worker_pool import WorkerPool
from runtime.tools.registry import Tool
from runtime.tools.result import ToolResult

MAX_PROCESSES = 8
OPEN_SUBJECTS = 4

_RUN = "runtime.tools.own_process:run_named"
_IMPORT = "runtime.tools.own_process:import_named"


@runtime_checkable
class PortableSubject(Protocol):
    """Marks what tools work on as something that another process can open."""

    def portable(self) -> tuple[str, dict[str, Any], dict[str, Any]]:
        """Return the "module:NAME" of a function, the plain arguments that it opens the subject with, and a view.

        The function is called with the arguments once, and its value is kept; each call then gets the value's
        `viewed(**view)`, which has to be cheap.
        """


class ToolProcesses:
    """Runs tools of one host in worker processes, which start when the first call needs one."""

    def __init__(self, *, kept: int = 1, size: int = MAX_PROCESSES) -> None:
        """Configure the processes: at most `size` at once; up to `kept` idle ones wait for later calls."""
        self._pool = WorkerPool(size=size, kept=kept)
        self._warming: asyncio.Task[None] | None = None

    def warm_up(self, tools: Iterable[Tool]) -> None:
        """Start a process and import the tools there, meanwhile; a call that comes before waits for that."""
        names = sorted({tool.reference for tool in tools})
        if names and self._warming is None:
            self._warming = asyncio.create_task(self._pool.call(_IMPORT, {"names": names}))

    async def run(self, tool: Tool, subject: object, parameters: msgspec.Struct) -> ToolResult:
        """Run a tool and return its result. Cancellation kills the process of the call.

        Raises the errors of `runtime.processes.worker_process`, ToolFailedError if the subject cannot be opened
        elsewhere, and every JeevesError that the tool raises.
        """
        if subject is not None and not isinstance(subject, PortableSubject):
            raise ToolFailedError(
                f"tool '{tool.name}' runs in a process of its own, where a {type(subject).__name__} cannot be opened; "
                "give that a method `portable`, or declare the tool with isolation='in_process'"
            )
        if self._warming is not None:
            await asyncio.wait({self._warming})
        arguments = {
            "name": tool.reference,
            "parameters": msgspec.msgpack.encode(parameters),
            "subject": None if subject is None else subject.portable(),
        }
        data = await self._pool.call(_RUN, arguments, timeout_s=tool.timeout_s)
        result: ToolResult = msgspec.msgpack.decode(data, type=tool.result)
        return result

    async def close(self) -> None:
        """Kill the processes that wait for calls."""
        if self._warming is not None:
            self._warming.cancel()
            await asyncio.wait({self._warming})
        self._pool.close()


# The worker's side

_opened: OrderedDict[bytes, Any] = OrderedDict()


def import_named(_note: object, names: list[str]) -> None:
    """Import the modules of tools, in a worker process."""
    for name in names:
        _named(name)


def run_named(
    _note: object, name: str, parameters: bytes, subject: tuple[str, dict[str, Any], dict[str, Any]] | None
) -> bytes:
    """Run the tool that is declared as "module:NAME", in a worker process. Returns the encoded result."""
    tool: Tool = _named(name)
    read = msgspec.msgpack.decode(parameters, type=tool.parameters)
    result: object = tool.run(None if subject is None else _subject(*subject), read)
    if not isinstance(result, ToolResult):
        raise ToolFailedError(f"tool '{tool.name}' returned a {type(result).__name__}, not a ToolResult")
    return msgspec.msgpack.encode(result)


def _subject(opener: str, arguments: dict[str, Any], view: dict[str, Any]) -> Any:
    key = msgspec.msgpack.encode((opener, sorted(arguments.items())))
    if key not in _opened:
        open_it: Callable[..., Any] = _named(opener)
        _opened[key] = open_it(**arguments)
        while len(_opened) > OPEN_SUBJECTS:
            _opened.popitem(last=False)[1].close()
    _opened.move_to_end(key)
    return _opened[key].viewed(**view)


def _named(spec: str) -> Any:
    module, _, name = spec.partition(":")
    return getattr(importlib.import_module(module), name)
