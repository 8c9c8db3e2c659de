"""Declares tools and registers them by name.

A tool is a function over the services of its capability. Its parameters are a msgspec struct, so that arguments from
outside are checked and described (JSON schema) from one definition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from runtime.effects.journal import Declaration
from runtime.errors import ToolArgumentsError, UnknownNameError
from runtime.tools.result import ToolResult

Access = Literal["read", "write"]
Risk = Literal["read", "write", "destructive"]
Isolation = Literal["in_process", "own_process"]


class Tool(msgspec.Struct, frozen=True):
    """Declares one tool. `run(subject, parameters)` is called in a thread; `cost` is relative: 1 is one look-up.

    A tool that is not `exposed` is left out of the descriptions for agents. `subject` is the object that the
    capability's tools work on (code_analysis: a `Codebase`). `effect` declares what to do about a call of a tool that
    writes if an earlier attempt may have made it; `was_done(subject, parameters)` checks that for `check_first` and
    returns the result that the call had, or None. `result` is the type that `run` returns, evidence included, and that
    journaled results are decoded to.

    `isolation`: a tool that runs in a process of its own is killed, with all that it started, when its call is called
    off or takes too long. `reference` is then the "module:NAME" that declares it, by which that process finds it. A
    tool that runs in a thread has to end by itself within seconds; one that does not costs its agent's process.
    """

    name: str
    description: str
    parameters: type[msgspec.Struct]
    run: Callable[[Any, Any], ToolResult]
    access: Access = "read"
    risk: Risk = "read"
    cost: int = 1
    timeout_s: float = 30.0
    effect: Declaration = "ask"
    was_done: Callable[[Any, Any], ToolResult | None] | None = None
    exposed: bool = True
    result: Any = ToolResult
    isolation: Isolation = "in_process"
    reference: str = ""

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the parameters."""
        return msgspec.json.schema(self.parameters)

    def read_arguments(self, arguments: dict[str, Any]) -> msgspec.Struct:
        """Convert `arguments` to parameters, ignoring None. Raises ToolArgumentsError that names the fault."""
        return read_arguments(self.name, self.parameters, arguments)


def read_arguments(tool: str, parameters: type[msgspec.Struct], arguments: Mapping[str, Any]) -> msgspec.Struct:
    """Convert the arguments of a call to `parameters`, ignoring None. ToolArgumentsError names the fault."""
    given = {key: value for key, value in arguments.items() if value is not None}
    known = {field.encode_name for field in msgspec.structs.fields(parameters)}
    unknown = sorted(set(given) - known)
    if unknown:
        takes = ", ".join(sorted(known)) or "none"
        raise ToolArgumentsError(
            f"tool '{tool}' has no parameter {', '.join(map(repr, unknown))}; it takes {takes}", tool=tool
        )
    try:
        return msgspec.convert(given, parameters)
    except msgspec.ValidationError as error:
        raise ToolArgumentsError(f"arguments of tool '{tool}': {error}", tool=tool) from error


class ToolRegistry:
    """Registers tools by name; immutable.

    Raises ValueError for two tools of the same name, and for one with a process of its own and without a reference.
    `tools` may be a function that lists them, which is called when they are first asked for, and raises it then.
    """

    def __init__(self, tools: Iterable[Tool] | Callable[[], Iterable[Tool]]) -> None:
        self._listed = tools if callable(tools) else None
        self._known = None if callable(tools) else _by_name(tools)

    @property
    def _tools(self) -> dict[str, Tool]:
        if self._known is None:
            assert self._listed is not None
            self._known = _by_name(self._listed())
        return self._known

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def get(self, name: str) -> Tool:
        """Return the tool of that name. Raises UnknownNameError that lists the known ones."""
        tool = self._tools.get(name)
        if tool is None:
            known = sorted(self._tools)
            raise UnknownNameError(f"no tool is named '{name}'; known: {', '.join(known)}", name=name, known=known)
        return tool

    def names(self) -> Sequence[str]:
        """Return all names in order of registration."""
        return tuple(self._tools)

    def describe(self) -> list[dict[str, Any]]:
        """Describe every exposed tool as JSON: name, description, access, risk, cost and parameters."""
        return [
            {
                "name": tool.name,
                "description": tool.description,
                "access": tool.access,
                "risk": tool.risk,
                "cost": tool.cost,
                "parameters": tool.schema().get("$defs", {}).get(tool.parameters.__name__, tool.schema()),
            }
            for tool in self._tools.values()
            if tool.exposed
        ]


def _by_name(tools: Iterable[Tool]) -> dict[str, Tool]:
    found: dict[str, Tool] = {}
    for tool in tools:
        if tool.name in found:
            raise ValueError(f"two tools are named '{tool.name}'")
        if tool.isolation == "own_process" and not tool.reference:
            raise ValueError(
                f"tool '{tool.name}' runs in a process of its own, which finds it by its `reference`: "
                "name the module and the variable that declare it"
            )
        found[tool.name] = tool
    return found
