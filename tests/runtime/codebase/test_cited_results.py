"""Results of tools that cite: the bytes that stores and agents hold, and the type in which they are read back."""

from __future__ import annotations

import pickle
from typing import Any

import msgspec
import pytest

from runtime.bus.queries import LocalQueries
from runtime.codebase.citation import Citation, ToolResult
from runtime.effects.journal import MemoryJournal
from runtime.effects.remote_journal import QueryJournal, journal_queries
from runtime.effects.stage_effects import StageEffects
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import RunId, StageKey
from runtime.run.bounds import Grant
from runtime.run.stage_budget import StageBudget
from runtime.tools import result
from runtime.tools.executor import ToolExecutor
from runtime.tools.registry import Tool, ToolRegistry
from runtime.tools.result import Attempt

RESULT = ToolResult(
    "partial",
    {"n": 1},
    (Citation("a.py", 1, 2, quote="x", content_sha256="ab"), Citation("b.py", 3, 3)),
    (Attempt("text", "ok", 2, 5),),
    True,
    None,
    7,
    9,
)
# Written before results were generic over their evidence.
FROZEN = (
    b"\x87\xa6status\xa7partial\xa4data\x81\xa1n\x01\xa9citations\x92\x85\xa4file\xa4a.py\xaastart_line\x01"
    b"\xa8end_line\x02\xa5quote\xa1x\xaecontent_sha256\xa2ab\x83\xa4file\xa4b.py\xaastart_line\x03\xa8end_line\x03"
    b"\xa8attempts\x91\x84\xa8strategy\xa4text\xa6status\xa2ok\xa7results\x02\xabduration_ms\x05\xa9truncated\xc3"
    b"\xabduration_ms\x07\xa6tokens\t"
)


class Line(msgspec.Struct, frozen=True):
    """What the tool is to write."""

    text: str


def test_a_result_with_citations_has_the_bytes_that_it_always_had() -> None:
    assert msgspec.msgpack.encode(RESULT) == FROZEN
    assert msgspec.msgpack.decode(FROZEN, type=ToolResult) == RESULT
    assert pickle.loads(pickle.dumps(RESULT)) == RESULT


@pytest.mark.parametrize(
    ("declared", "cited"),
    [(ToolResult, RESULT.citations), (result.ToolResult, tuple(map(msgspec.to_builtins, RESULT.citations)))],
)
async def test_a_journaled_result_is_read_back_with_the_evidence_that_its_tool_names(declared: Any, cited: Any) -> None:
    queries = LocalQueries()
    queries.register(journal_queries(MemoryJournal()))
    journal = QueryJournal(queries, SystemClock())
    calls = []

    def write(_subject: object, line: Line) -> ToolResult:
        calls.append(line.text)
        return RESULT

    tools = ToolRegistry([Tool("write", "Writes.", Line, write, "write", result=declared)])
    found = []
    for attempt in (1, 2):
        effects = StageEffects(journal, StageKey(RunId("r-1"), 3, attempt=attempt))
        executor = ToolExecutor(tools, frozenset({"write"}), StageBudget(Grant(tool_calls=1)), effects=effects)
        found.append(await executor.call("write", None, {"text": "a"}))
    assert calls == ["a"]
    assert [each.citations for each in found] == [cited, cited]
