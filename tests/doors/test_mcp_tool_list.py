"""What an agent pays for the tool list, and what it must be able to read there."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from runtime.settings import Settings
from serve.mcp.ask.tool import AskHost, ask_tool
from serve.mcp.changes.contract_tools import CONTRACT_TOOLS
from serve.mcp.search.tools import SEARCH_TOOLS
from serve.mcp.toolset import McpTool, ToolAnswer

# Counted by the tokenizer of the embedding model, which takes more for JSON than those of the models that read it.
MOST_TOKENS = {"all": 4_775, "search": 2_680, "tool": 360, "description": 75}
COST = re.compile(r"Fast\.|Cheapest|[Ss]econd|Free")


async def run(_given: object, _report: object) -> ToolAnswer:
    raise AssertionError


def listed() -> dict[str, McpTool]:
    made = [
        McpTool(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            parameters=tool.parameters,
            run=run,
            kind=getattr(tool, "kind", "contract"),
        )
        for tool in (*SEARCH_TOOLS, *CONTRACT_TOOLS)
    ]
    return {tool.name: tool for tool in (ask_tool(AskHost(Settings(state_dir=Path("unused")), ".")), *made)}


TOOLS = listed()


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    path = files("runtime.codebase.semantics").joinpath("minilm/tokenizer.json")
    made = Tokenizer.from_str(path.read_text(encoding="utf-8"))
    made.no_truncation()
    made.no_padding()
    return made


def tokens(tokenizer: Tokenizer, text: str) -> int:
    return len(tokenizer.encode(text, add_special_tokens=False).ids)


def test_the_tool_list_stays_within_its_tokens(tokenizer: Tokenizer) -> None:
    counts = {
        name: tokens(
            tokenizer,
            json.dumps({"name": name, "description": tool.description, "input_schema": tool.listed_schema()}),
        )
        for name, tool in TOOLS.items()
    }
    assert sum(counts.values()) <= MOST_TOKENS["all"], counts
    assert sum(count for name, count in counts.items() if TOOLS[name].kind == "search") <= MOST_TOKENS["search"]
    assert max(counts.values()) <= MOST_TOKENS["tool"], counts
    told = {name: tokens(tokenizer, tool.description) for name, tool in TOOLS.items()}
    assert max(told.values()) <= MOST_TOKENS["description"], told


@pytest.mark.parametrize("name", [name for name, tool in TOOLS.items() if tool.kind == "search"])
def test_a_search_tool_says_when_to_use_it_what_comes_back_and_what_it_costs(name: str) -> None:
    described = TOOLS[name].description
    assert COST.search(described), described
    assert len(re.split(r"[.:;,]", described)) >= 3, described


def test_a_second_name_names_the_tool_that_it_stands_for() -> None:
    for name, first in (("find_references", "explore_symbol_usage"), ("analyze_structure", "map_module")):
        assert first in TOOLS[name].description
        assert TOOLS[name].listed_schema() == TOOLS[first].listed_schema()


@pytest.mark.parametrize("name", TOOLS)
def test_the_listed_schema_has_every_argument_and_no_bound_that_a_model_need_not_know(name: str) -> None:
    full, brief = TOOLS[name].input_schema(), TOOLS[name].listed_schema()
    assert list(brief["properties"]) == list(full["properties"])
    assert brief.get("required", []) == full.get("required", [])
    for argument, schema in full["properties"].items():
        assert types_of(brief["properties"][argument]) == types_of(schema), argument
        assert brief["properties"][argument].get("enum") == schema.get("enum")
        bound = schema.get("maximum", 0)
        assert brief["properties"][argument].get("maximum") == (bound if 0 < bound <= 10_000 else None)


def types_of(schema: dict[str, Any]) -> list[Any]:
    items = schema.get("items")
    return [schema.get("type"), items.get("type") if isinstance(items, dict) else None]
