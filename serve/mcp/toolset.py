"""Declares the tools of the MCP door as records, and the gate that every call of one passes.

A toolset is a list of `McpTool`: those of the kind `search` read the repository, those of the kind `contract` lead a
change. A gate may refuse a call and logs each one, with the lines that its answer showed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from runtime.tools.registry import read_arguments

Kind = Literal["search", "contract"]

# Arguments that name what a call is about, in the order in which a log shows them.
_TARGETS = ("path", "symbol", "name", "entry", "scope", "pattern", "patterns", "query", "question")


# What the schemas in the tool list leave out.
MAX_TOLD_BOUND = 10_000
_UNTOLD = frozenset({"minLength", "maxLength", "minItems", "maxItems", "minimum", "pattern"})


class ShownLines(NamedTuple):
    """Names lines of a file that an answer showed, both ends included."""

    file: str
    start_line: int
    end_line: int


class ToolAnswer(msgspec.Struct, frozen=True):
    """Holds the answer of a call: text for a model, the same as JSON-like `data`, and the lines that both show."""

    text: str
    data: dict[str, Any] = {}
    is_error: bool = False
    shown: tuple[ShownLines, ...] = ()


class ToolCall(NamedTuple):
    """Describes one call: the tool, its arguments, and those of them that name what it is about.

    `connection`: the session of an HTTP client that keeps one; empty on standard input, which has one client.
    """

    tool: str
    arguments: Mapping[str, Any]
    targets: tuple[str, ...]
    connection: str = ""


Report = Callable[[float, float | None, str], Awaitable[None]]
Run = Callable[[Any, Report], Awaitable[ToolAnswer]]


class McpTool(msgspec.Struct, frozen=True, kw_only=True):
    """Declares one tool. `run` gets the parameters and a function that reports progress (done, total, message).

    `description` is written for the model that chooses between tools. `explores`: the kind of exploration that a call
    counts as in a change under contract, empty if it is none.
    """

    name: str
    title: str
    description: str
    parameters: type[msgspec.Struct]
    run: Run
    kind: Kind = "search"
    explores: str = ""
    is_read_only: bool = True

    def input_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the arguments: an object without references."""
        schema = msgspec.json.schema(self.parameters)
        found: dict[str, Any] = schema["$defs"][self.parameters.__name__]
        properties = {name: _without_null(each) for name, each in found.get("properties", {}).items()}
        told = {key: value for key, value in found.items() if key not in {"title", "description"}}
        return {**told, "properties": properties}

    def listed_schema(self) -> dict[str, Any]:
        """Return the schema for the tool list, without what a model need not read.

        Every agent pays for the list in each of its sessions. A call that breaks a bound is told which; low upper
        bounds of numbers stay, since calls aim at them.
        """
        schema = self.input_schema()
        told = {"type": "object", "properties": {name: _brief(each) for name, each in schema["properties"].items()}}
        return {**told, "required": schema["required"]} if schema.get("required") else told

    def read(self, arguments: Mapping[str, Any]) -> msgspec.Struct:
        """Convert arguments to parameters, ignoring null. Raises ToolArgumentsError that names the fault."""
        return read_arguments(self.name, self.parameters, arguments)


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an optional argument as that of its values: a client leaves it out instead of sending null.

    Clients that read arguments as text know by the type which of them are numbers.
    """
    choices = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if len(choices) != 1:
        return schema
    rest = {key: value for key, value in schema.items() if key not in {"anyOf", "default"}}
    return {**rest, **choices[0]}


def _brief(schema: Any) -> Any:
    """Return a schema without bounds that calls meet unknowingly, and without defaults that are empty."""
    if isinstance(schema, list):
        return [_brief(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    told = {key: _brief(value) for key, value in schema.items() if key not in _UNTOLD}
    if told.get("maximum", 0) > MAX_TOLD_BOUND:
        del told["maximum"]
    return {key: value for key, value in told.items() if key != "default" or value}


class ToolGate(Protocol):
    """Decides which calls may be made now, and logs those that were."""

    async def permits(self, call: ToolCall) -> ToolAnswer | None:
        """Return None to let the call pass, or the answer that it gets instead, such as what to do in this phase."""
        ...

    async def record(self, call: ToolCall, answer: ToolAnswer) -> None:
        """Record a call that was made, and the answer that its caller gets."""
        ...


class OpenGate:
    """Lets every call pass and keeps no log."""

    async def permits(self, call: ToolCall) -> ToolAnswer | None:
        return None

    async def record(self, call: ToolCall, answer: ToolAnswer) -> None:
        return None


class Toolset:
    """Registers tools by name; immutable. Raises ValueError for two tools of the same name."""

    def __init__(self, tools: Iterable[McpTool]) -> None:
        self._tools: dict[str, McpTool] = {}
        for tool in tools:
            if tool.name in self._tools:
                raise ValueError(f"two MCP tools are named '{tool.name}'")
            self._tools[tool.name] = tool

    def __iter__(self) -> Iterator[McpTool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def get(self, name: str) -> McpTool | None:
        """Return the tool of that name, or None."""
        return self._tools.get(name)

    def names(self) -> tuple[str, ...]:
        """Return the names in order of registration."""
        return tuple(self._tools)

    def of_kinds(self, *kinds: Kind) -> Toolset:
        """Return the toolset of those kinds alone."""
        return Toolset(tool for tool in self if tool.kind in kinds)


def described(tool: str, arguments: Mapping[str, Any], connection: str = "") -> ToolCall:
    """Return the description of a call, for a gate."""
    targets: list[str] = []
    for name in _TARGETS:
        value = arguments.get(name)
        targets += [str(each) for each in value] if isinstance(value, list) else [str(value)] if value else []
    return ToolCall(tool, arguments, tuple(targets), connection)
