"""Admits the calls that the phase of a change permits, and enters each in the session's log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.errors import FencedError
from serve.mcp.changes.contract_host import ContractHost
from serve.mcp.changes.contract_tools import SELF_RECORDED, told
from serve.mcp.toolset import ToolAnswer, ToolCall

# Tools of a change that answer who drives no session, too.
BEGINS = "start_session"
_WITHOUT_SESSION = frozenset({BEGINS, "get_session_status", "analyze_impact", "sync_index"})


class SessionGate:
    """Lets every call pass without a session; during one the phase's list of tools binds."""

    def __init__(self, host: ContractHost) -> None:
        self._host = host

    async def permits(self, call: ToolCall) -> ToolAnswer | None:
        """Return the phase's instruction for a tool that is out of its phase."""
        if call.tool != BEGINS:
            self._host.follow_on()
        session = self._host.live
        if session is None:
            return None
        try:
            refusal = await session.refusal_of(call.tool)
        except FencedError as error:
            self._host.forget()
            is_of_session = call.tool in SELF_RECORDED and call.tool not in _WITHOUT_SESSION
            return told({"error": {"code": "taken_over", "problems": [error.message]}}) if is_of_session else None
        return None if refusal is None else told(refusal)

    async def record(self, call: ToolCall, answer: ToolAnswer) -> None:
        """Enter a call with the files and lines that its answer showed; one that failed shows nothing.

        A binary file that is asked for has no lines, and is told as an error all the same.
        """
        session = self._host.live
        if session is None or call.tool in SELF_RECORDED or (answer.is_error and not answer.shown):
            return
        shown: dict[str, list[tuple[int, int]]] = {}
        for lines in answer.shown:
            shown.setdefault(lines.file, []).append((lines.start_line, lines.end_line))
        await session.record(call.tool, list(shown) or named_files(answer.data), shown)


def named_files(data: Mapping[str, Any]) -> list[str]:
    """Return the files that an answer names without a line of them, as a list of files does: it was about these."""
    rows = [row for value in data.values() if isinstance(value, list) for row in value if isinstance(row, Mapping)]
    return [row["file"] for row in rows if isinstance(row.get("file"), str)]
