"""Hosts of sessions on real repositories, called as doors call them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from actors.capabilities.code_change.session import calls
from actors.capabilities.code_change.session.ports import Ports
from actors.capabilities.code_change.session.session_host import MemoryLimits, SessionHost
from actors.capabilities.code_change.store.session_store import SessionStore
from runtime.codebase.files.consent import Consent
from runtime.contracts.contract import Contract
from runtime.database.sqlite_database import SqliteDatabase
from runtime.primitives.clock import Clock
from runtime.testing import FakeClock
from tests.capabilities.code_change.played_agent import CHANGED, QUERY, TASK
from tests.runtime.contracts.session_player import CONTRACT


class HostSite:
    """A host of sessions whose state is in a folder."""

    def __init__(
        self,
        state_dir: Path,
        contract: Contract = CONTRACT,
        limits: MemoryLimits | None = None,
        alive: Sequence[str] = (),
        clock: Clock | None = None,
    ) -> None:
        state_dir.mkdir(parents=True, exist_ok=True)
        self.clock = clock or FakeClock()
        database = SqliteDatabase(state_dir / "code_changes.sqlite", label="changes")
        self.store = SessionStore(database, self.clock)
        ports = Ports(self.store, self.clock, state_dir / "trees", "", lambda owner: owner.partition(".")[0] in alive)
        self.host = SessionHost(contract, Consent(state_dir), ports, limits)

    async def call(self, call: calls.Call) -> calls.Answer:
        return await self.host.call(call)


class Driver:
    """A client of a host: it explores, edits, reports and submits, one change on one repository."""

    def __init__(self, carrier: Any, root: Path, name: str = "a-process") -> None:
        self.carrier = carrier
        self.root = root
        self.name = name
        self.last: dict[str, Any] = {}

    @property
    def session_id(self) -> str:
        return str(self.last["session_id"])

    async def start(self, intent: str = "MODIFY", **fields: Any) -> dict[str, Any]:
        call = calls.StartChange(driver=self.name, root=str(self.root), intent=intent, query=QUERY, **fields)
        self.last = {**self.last, **await self.carrier.call(call)}
        return self.last

    async def submit(self, payload: object, **fields: Any) -> dict[str, Any]:
        text = json.dumps({"payload": payload, "compaction_count": None})
        call = calls.SubmitPhase(**self._of(), submission=text, **{"key": secrets.token_hex(8), **fields})
        told: dict[str, Any] = await self.carrier.call(call)
        self.last = told if "session_id" in told else self.last
        return told

    async def status(self) -> dict[str, Any]:
        told: dict[str, Any] = await self.carrier.call(calls.ChangeStatus(**self._of()))
        return told

    async def see(self, tool: str, *files: str) -> None:
        shown: dict[str, tuple[tuple[int, int], ...]] = dict.fromkeys(files, ((1, 100),))
        await self.carrier.call(calls.RecordUse(**self._of(), tool=tool, targets=files, shown=shown))

    async def step(self) -> dict[str, Any]:
        payload = await getattr(self, f"_step_{self.last['step']}")()
        told = await self.submit(payload, supplied=calls.Supplied(likeness={}))
        assert "error" not in told, told["error"]
        return told

    async def go_to(self, step: int) -> Driver:
        while self.last.get("step") != step:
            await self.step()
        return self

    async def finish(self) -> dict[str, Any]:
        while self.last["phase"] != "SESSION_COMPLETE":
            await self.step()
        return self.last

    def _of(self) -> dict[str, Any]:
        return {"driver": self.name, "session_id": self.session_id}

    async def _step_3(self) -> Mapping[str, Any]:
        await self.see("read_code", "docs/rules.md")
        return {"documents_reviewed": ["docs/rules.md"], "tools_used": ["read_code"], "summary": "three at most"}

    async def _step_4(self) -> Mapping[str, Any]:
        return {
            "action_type": {"value": "modify", "quote": "Make"},
            "target_symbols": [{"value": "load", "quote": "load"}],
            "tools_used": [],
            "summary": "load shall retry",
        }

    async def _step_5(self) -> Mapping[str, Any]:
        await self.see("find_definitions", "load.py", "net.py")
        await self.see("find_references", "load.py", "cache.py")
        return {
            "explored_files": ["load.py", "net.py", "cache.py"],
            "findings": ["load calls fetch once"],
            "tools_used": ["find_definitions"],
            "summary": "load is all there is",
        }

    async def _step_6(self) -> Mapping[str, Any]:
        return {"needs_more_information": False, "reason": "all is known"}

    async def _step_8(self) -> Mapping[str, Any]:
        return {"has_unverified_hypotheses": False, "reason": "none"}

    async def _step_10(self) -> Mapping[str, Any]:
        return {"needs_impact_analysis": False, "reason": "one caller"}

    async def _step_12(self) -> Mapping[str, Any]:
        return {"tasks": [TASK], "tools_used": [], "summary": "one task"}

    async def _step_13(self) -> Mapping[str, Any]:
        await self.see("read_code", "load.py")
        await self.carrier.call(calls.CheckTarget(**self._of(), file="load.py"))
        (Path(self.last["workspace"]) / "load.py").write_text(CHANGED)
        item = {"item": "retry loop", "status": "done", "evidence": "load.py:5-10"}
        return {"task_id": "t1", "checklist": [item], "tools_used": ["check_write_target"], "summary": "done"}

    async def _step_14(self) -> Mapping[str, Any]:
        return {"summary": "load retries"}

    async def _step_15(self) -> Mapping[str, Any]:
        return {"passed": True, "details": "tried", "tools_used": [], "summary": "works"}

    async def _step_17(self) -> Mapping[str, Any]:
        seen = await self.carrier.call(calls.ReviewChanges(**self._of()))
        files = [each["file"] for each in seen["files"]]
        return {"reviewed_files": files, "commit_message": "Retry", "tools_used": ["review_changes"], "summary": "all"}

    async def _step_18(self) -> Mapping[str, Any]:
        return {"quality_score": 9, "issues": [], "tools_used": [], "summary": "good"}

    async def _step_19(self) -> Mapping[str, Any]:
        return {"summary": "load retries three times"}
