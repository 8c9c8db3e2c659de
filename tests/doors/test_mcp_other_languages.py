"""Requests in a language that the sentence model does not know: nothing is compared with them by meaning."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from actors.capabilities.code_change.store.agreement_files import Agreement, write_agreement
from runtime.contracts.exploring_duties import band_of
from runtime.settings import Settings
from runtime.tools.result import ToolResult
from serve.mcp.changes.symbol_map import SymbolMap
from serve.mcp.changes.symbol_meaning import SymbolMeaning
from tests.runtime.contracts.session_player import CONTRACT

ENGLISH = "Make the download retry when the connection breaks off"
KOREAN = "다운로드를 다시 시도"


class Searches:
    """Finds nothing, and keeps what was looked for."""

    def __init__(self) -> None:
        self.wanted: list[Mapping[str, Any]] = []

    async def result(self, tool: str, arguments: Mapping[str, Any], report: Any) -> ToolResult:
        self.wanted.append(arguments)
        return ToolResult("ok", {"symbols": []})


def settings_in(folder: Path) -> Settings:
    return Settings.model_validate({"state_dir": str(folder / "state"), "code_index": {"embeddings": True}})


async def unheard(_done: float, _total: float | None, _message: str) -> None:
    return None


@pytest.mark.parametrize(("query", "is_compared"), [(ENGLISH, True), (KOREAN, False)])
async def test_symbols_are_taken_by_name_with_low_confidence(tmp_path: Path, query: str, is_compared: bool) -> None:
    searches = Searches()
    # Nobody embeds here, so what is compared ends without a result as well.
    found = await SymbolMeaning(settings_in(tmp_path), searches).likeness(query, ["retry_download"])
    assert (searches.wanted != []) is is_compared
    assert band_of(CONTRACT, found.get("retry_download")) == "low_confidence"


@pytest.mark.parametrize(("query", "is_compared"), [(ENGLISH, True), (KOREAN, False)])
async def test_agreements_are_found_by_the_same_request_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, query: str, is_compared: bool
) -> None:
    root = tmp_path / "project"
    root.mkdir()
    write_agreement(root, Agreement("로그 파일을 삭제", ("delete_log",)))
    caplog.set_level(logging.INFO)
    await SymbolMap(settings_in(tmp_path), str(root), Searches()).hit(query, unheard)
    assert ("map.not_compared" in caplog.text) is is_compared
