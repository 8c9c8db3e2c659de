"""Offers what `jeeves init` writes as MCP prompts: commands for people, and guides of the phases."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
)

ARGUMENT = "request"
PLACE = "$ARGUMENTS"
MAX_ARGUMENT_CHARS = 20_000

_Context = ServerRequestContext[Any, Any]
# The head of a command's file, as clients read it: description and argument-hint.
_HEAD = re.compile(r"---\n(.*?)---\n", re.DOTALL)
_FIELD = re.compile(r"^([\w-]+): *(.*)$", re.MULTILINE)


class _Text(NamedTuple):
    name: str
    text: str
    description: str
    hint: str = ""


class Prompts:
    """Answers `prompts/list` and `prompts/get` from a folder with `commands` and `guides`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def listed(self, _context: _Context, _params: PaginatedRequestParams | None) -> ListPromptsResult:
        """Return all prompts."""
        return ListPromptsResult(prompts=[_prompt(text) for text in self._texts().values()])

    async def got(self, _context: _Context, params: GetPromptRequestParams) -> GetPromptResult:
        """Return one prompt, with the person's words in its place. Raises MCPError for one that is not there."""
        texts = self._texts()
        found = texts.get(params.name)
        if found is None:
            raise MCPError(INVALID_PARAMS, f"no prompt is named {params.name[:100]!r}; there are {', '.join(texts)}")
        said = (params.arguments or {}).get(ARGUMENT, "")
        if found.hint and not said.strip():
            raise MCPError(INVALID_PARAMS, f"prompt '{found.name}' needs `{ARGUMENT}`: {found.hint}")
        text = found.text.replace(PLACE, said[:MAX_ARGUMENT_CHARS])
        message = PromptMessage(role="user", content=TextContent(type="text", text=text))
        return GetPromptResult(description=found.description, messages=[message])

    def _texts(self) -> Mapping[str, _Text]:
        commands = [_command(path) for path in sorted((self._folder / "commands").glob("*.md"))]
        guides = [_guide(path) for path in sorted((self._folder / "guides").glob("*.md"))]
        return {text.name: text for text in (*commands, *guides)}


def _prompt(text: _Text) -> Prompt:
    arguments = [PromptArgument(name=ARGUMENT, description=text.hint, required=True)] if text.hint else []
    return Prompt(name=text.name, description=text.description, arguments=arguments)


def _command(path: Path) -> _Text:
    whole = path.read_text("utf-8")
    head = _HEAD.match(whole)
    fields = dict(_FIELD.findall(head[1])) if head else {}
    body = whole[head.end() :] if head else whole
    hint = fields.get("argument-hint", "").strip('"')
    return _Text(path.stem, body, fields.get("description", ""), hint)


def _guide(path: Path) -> _Text:
    text = path.read_text("utf-8")
    return _Text(path.stem, text, text.split("\n", 1)[0].lstrip("# "))
