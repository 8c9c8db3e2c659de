"""What a change touches: proven places first and whole, likely ones in order of likelihood, few, and counted."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from runtime.errors import RepositoryError
from runtime.settings import Settings
from runtime.tools.result import ToolResult
from serve.mcp.changes.impact import MAX_LIKELY, document_pattern, impact_of
from serve.mcp.search.tools import SearchHost
from serve.mcp.toolset import Report
from tests.capabilities.code_change.played_agent import repository


class Searches:
    """Answers the code tools from tables, and keeps what was asked."""

    def __init__(self, mentions: Mapping[str, int], documents: tuple[str, ...] = ()) -> None:
        self.mentions = [{"file": file, "line": line + 1} for file, count in mentions.items() for line in range(count)]
        self.documents = [{"file": file, "line": 1} for file in documents]
        self.patterns: list[str] = []

    async def result(self, code_tool: str, arguments: Mapping[str, Any], report: Report) -> ToolResult:
        if code_tool == "grep_search":
            self.patterns.append(arguments["pattern"])
            return ToolResult("ok", {"hits": self.documents})
        return ToolResult("ok", {"definitions": [{"file": "a.py"}], "mentions": self.mentions})


async def unheard(_done: float, _total: float | None, _message: str) -> None:
    return None


async def test_likely_files_come_in_order_of_likelihood_and_the_rest_is_counted() -> None:
    mentions = {f"m{number:02d}.py": number + 1 for number in range(15)}
    found = await impact_of(Searches(mentions, ("docs/a.md", "docs/b.md")), ["f_one"], [], unheard)
    shown = [row["file"] for row in found["should_verify"]]
    assert shown[:3] == ["m14.py", "m13.py", "m12.py"]
    assert len(shown) == MAX_LIKELY
    assert found["more"] == f"{17 - MAX_LIKELY} more files only name these symbols; search_text lists them"


async def test_a_document_that_shows_a_name_need_not_be_verified() -> None:
    class Shown:
        async def result(self, code_tool: str, arguments: Mapping[str, Any], report: Report) -> ToolResult:
            rows: list[dict[str, Any]] = [
                {"file": "PKG-INFO", "line": 3},
                {"file": "b.py", "line": 3},
                {"file": "docs/run.py", "line": 3},
            ]
            rows[2] |= {"proof": ["import docs/run.py:1"]}
            return ToolResult("ok", {"definitions": [{"file": "a.py"}], "references": rows})

    found = await impact_of(Shown(), ["f_one"], [], unheard)
    assert [row["file"] for row in found["must_verify"]] == ["b.py", "docs/run.py"]
    assert [row["file"] for row in found["should_verify"]] == ["PKG-INFO"]


async def test_an_import_of_the_module_is_not_called_one_of_the_name() -> None:
    class Importers:
        async def result(self, code_tool: str, arguments: Mapping[str, Any], report: Report) -> ToolResult:
            rows = [{"file": f"{kind}.py", "line": 3, "imports": kind} for kind in ("module", "symbol")]
            return ToolResult("ok", {"definitions": [{"file": "a.py"}], "importers": rows})

    found = await impact_of(Importers(), ["f_one"], [], unheard)
    assert {row["file"]: row["reasons"] for row in found["must_verify"]} == {
        "module.py": ["imports the module of f_one (line 3)"],
        "symbol.py": ["imports it: f_one (line 3)"],
    }


async def test_an_import_of_the_class_is_not_called_one_of_its_method() -> None:
    class Importers:
        async def result(self, code_tool: str, arguments: Mapping[str, Any], report: Report) -> ToolResult:
            rows = [
                {"file": f"{name}.py", "line": 3, "imports": "symbol", "name": name} for name in ("Keys", "hash_it")
            ]
            return ToolResult("ok", {"definitions": [{"file": "a.py"}], "importers": rows})

    found = await impact_of(Importers(), ["Keys.hash_it"], [], unheard)
    assert {row["file"]: row["reasons"] for row in found["must_verify"]} == {
        "Keys.py": ["imports Keys, which has Keys.hash_it (line 3)"],
        "hash_it.py": ["imports it: Keys.hash_it (line 3)"],
    }


@pytest.mark.parametrize("count", [MAX_LIKELY - 1, MAX_LIKELY])
async def test_what_is_not_cut_says_nothing_of_more(count: int) -> None:
    found = await impact_of(Searches({f"m{number}.py": 1 for number in range(count)}), ["f_one"], [], unheard)
    assert len(found["should_verify"]) == count
    assert "more" not in found


@pytest.mark.parametrize(
    ("symbol", "text", "is_found"),
    [
        ("load", "Download the file and load it.", False),
        ("load", "Call `load` first.", True),
        ("load", "Call load(url) first.", True),
        ("load", "the option `--load-all` and `load.all`", True),
        ("load_all", "load_all is called", True),
        ("load_all", "preload_all_of is called", False),
        ("Store", "The Store keeps them.", True),
        ("Store.load", "Store.load keeps them", True),
        ("Store.load", "Storexload", False),
        ("a+b", "a+b", True),
    ],
)
def test_documents_name_a_symbol_as_code_does(symbol: str, text: str, is_found: bool) -> None:
    assert (re.search(document_pattern(symbol), text) is not None) is is_found


@pytest.mark.long
async def test_a_document_that_names_a_symbol_should_be_verified(tmp_path: Path) -> None:
    root = repository(tmp_path / "project")
    (root / "docs" / "use.md").write_text("Call `load` with the address.\n")
    (root / "docs" / "other.md").write_text("Downloads are loaded here, and a load is carried.\n")
    host = SearchHost(Settings(state_dir=tmp_path / "state"), str(root))
    try:
        found = await impact_of(host, ["load"], [], unheard)
    finally:
        await host.close()
    assert [row["file"] for row in found["should_verify"]] == ["docs/use.md"]


class SideBySide(Searches):
    """Answers a usage only when the documents were asked for as well; documents fail if they are told to."""

    def __init__(self, *, fails: bool = False) -> None:
        super().__init__({"m.py": 1}, ("docs/a.md",))
        self.asked, self.fails, self.cancelled = asyncio.Event(), fails, False

    async def result(self, code_tool: str, arguments: Mapping[str, Any], report: Report) -> ToolResult:
        if code_tool == "grep_search":
            self.asked.set()
            if self.fails:
                raise RepositoryError("the repository is gone", path="x")
            return await super().result(code_tool, arguments, report)
        try:
            await (asyncio.Event() if self.fails else self.asked).wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return await super().result(code_tool, arguments, report)


async def test_usages_and_documents_are_looked_up_side_by_side() -> None:
    found = await impact_of(SideBySide(), ["f_one"], [], unheard)
    assert [row["file"] for row in found["should_verify"]] == ["m.py", "docs/a.md"]


async def test_a_look_up_that_fails_cancels_the_one_beside_it() -> None:
    searches = SideBySide(fails=True)
    with pytest.raises(RepositoryError, match="is gone"):
        await impact_of(searches, ["f_one"], [], unheard)
    await asyncio.sleep(0)
    assert searches.cancelled
