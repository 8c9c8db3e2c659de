"""Plays a coding agent against real sessions on a real repository: it explores, edits, reports and submits."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from actors.capabilities.code_change.session.live_session import LiveSession
from actors.capabilities.code_change.session.ports import Ports
from actors.capabilities.code_change.session.sessions import ChangeSessions
from actors.capabilities.code_change.store.session_store import SessionStore
from runtime.contracts.contract import Contract
from runtime.database.sqlite_database import SqliteDatabase
from runtime.testing import FakeClock
from tests.runtime.contracts.session_player import CONTRACT

QUERY = "Make `load` retry when the network fails"
CODE = "import net\n\n\ndef load(url):\n    return net.fetch(url)\n"
CHANGED = """import net


def load(url):
    for attempt in range(3):
        try:
            return net.fetch(url)
        except OSError:
            if attempt == 2:
                raise
"""
FILES = {
    "load.py": CODE,
    "net.py": "def fetch(url):\n    raise OSError(url)\n",
    "cache.py": "KEPT = {}\n",
    "docs/rules.md": "# Rules\n\nRetry at most three times.\n",
}
TASK = {
    "id": "t1",
    "description": "retry in load",
    "status": "pending",
    "checklist": [{"item": "retry loop", "status": "pending"}],
}


def git(folder: Path, *words: str) -> str:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", *words], cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def repository(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "A Tester")
    git(folder, "config", "user.email", "tester@example.org")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder.resolve()


class Agent:
    """Holds a server of sessions on a repository, and calls it as a client would."""

    def __init__(self, root: Path, state_dir: Path, contract: Contract = CONTRACT, **ports: Any) -> None:
        self.root = root
        self.state_dir = state_dir
        self.contract = contract
        self.clock = FakeClock()
        state_dir.mkdir(exist_ok=True)
        given = Ports(
            SessionStore(SqliteDatabase(state_dir / "code_changes.sqlite", label="changes"), self.clock),
            self.clock,
            state_dir / "trees",
            "a-process",
            lambda owner: False,
        )
        self.ports = replace(given, **ports)
        self.sessions = ChangeSessions(contract, root, self.ports)
        self.last: dict[str, Any] = {}

    def restarted(self, owner: str = "another-process") -> Agent:
        """Return a server that knows nothing but what is on disk, as after a kill."""
        return Agent(self.root, self.state_dir, self.contract, owner=owner)

    @property
    def session(self) -> LiveSession:
        assert self.sessions.live is not None
        return self.sessions.live

    @property
    def workspace(self) -> Path:
        return self.session.folder

    async def start(self, intent: str = "MODIFY", flags: Sequence[str] = (), **fields: Any) -> dict[str, Any]:
        self.last = await self.sessions.start(intent, QUERY, flags, **fields)
        return self.last

    async def submit(self, payload: object, count: object = None) -> dict[str, Any]:
        self.last = await self.session.submit(payload, count)
        return self.last

    async def see(self, tool: str, *files: str) -> None:
        """Use a tool that shows whole files."""
        await self.session.record(tool, files, {file: [(1, 100)] for file in files})

    def edit(self, file: str = "load.py", text: str = CHANGED) -> None:
        path = self.workspace / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    async def prepare(self) -> Mapping[str, Any]:
        """Do what the phase asks for, and return what is to be submitted."""
        phase, step = str(self.last["phase"]), self.last.get("step")
        name = {12: "PLANNING", 13: "IMPLEMENTATION", 14: "COMPLETION"}.get(int(step or 0), phase)
        return await getattr(self, f"_{name.lower()}")()  # type: ignore[no-any-return]

    async def step(self, **changes: Any) -> dict[str, Any]:
        payload = {**await self.prepare(), **changes}
        return await self.submit(payload)

    async def go_to(self, step: int) -> Agent:
        for _ in range(30):
            if self.last.get("step") == step:
                return self
            await self.step()
            assert "error" not in self.last, self.last["error"]
        raise AssertionError(f"step {step} was not reached: {self.last}")

    async def finish(self) -> dict[str, Any]:
        for _ in range(30):
            if self.last["phase"] == "SESSION_COMPLETE":
                return self.last
            await self.step()
            assert "error" not in self.last, self.last["error"]
        raise AssertionError(self.last)

    async def _branch_intervention(self) -> Mapping[str, Any]:
        return {"choice": "continue", "tools_used": [], "summary": "left alone"}

    async def _document_research(self) -> Mapping[str, Any]:
        await self.see("read_code", "docs/rules.md")
        rule = {"rule": "retry at most three times", "source": "docs/rules.md"}
        return {
            "documents_reviewed": ["docs/rules.md"],
            "mandatory_rules": [rule],
            "tools_used": ["read_code"],
            "summary": "three times at most",
        }

    async def _query_frame(self) -> Mapping[str, Any]:
        return {
            "action_type": {"value": "modify", "quote": "Make"},
            "target_symbols": [{"value": "load", "quote": "load"}],
            "tools_used": [],
            "summary": "load shall retry",
        }

    async def _exploration(self) -> Mapping[str, Any]:
        await self.see("find_definitions", "load.py", "net.py")
        await self.see("find_references", "load.py", "cache.py")
        return {
            "explored_files": ["load.py", "net.py", "cache.py"],
            "findings": ["load calls fetch once"],
            "tools_used": ["find_definitions", "find_references"],
            "summary": "load is all there is",
        }

    async def _q1(self) -> Mapping[str, Any]:
        return {"needs_more_information": False, "reason": "all is known"}

    async def _q2(self) -> Mapping[str, Any]:
        return {"has_unverified_hypotheses": False, "reason": "none"}

    async def _q3(self) -> Mapping[str, Any]:
        return {"needs_impact_analysis": False, "reason": "one caller"}

    async def _planning(self) -> Mapping[str, Any]:
        return {"tasks": [TASK], "tools_used": [], "summary": "one task"}

    async def _implementation(self) -> Mapping[str, Any]:
        task = self.last["next_task"]
        await self.session.check_write_target("load.py")
        self.edit()
        proven = {"status": "done", "evidence": "load.py:5-10"}
        # The same few lines prove few tasks; one that is planned for nothing is left out.
        left_out = {"status": "skipped", "reason": "there is nothing left to do"}
        told = left_out if task["description"] == "nothing" else proven
        items = [{"item": each["item"], **told} for each in task["checklist"]]
        return {"task_id": task["id"], "checklist": items, "tools_used": ["check_write_target"], "summary": "done"}

    async def _completion(self) -> Mapping[str, Any]:
        return {"summary": "load retries"}

    async def _post_impl_verify(self) -> Mapping[str, Any]:
        return {"passed": True, "details": "tried", "tools_used": [], "summary": "works"}

    async def _verify_intervention(self) -> Mapping[str, Any]:
        return {"prompt_used": "stuck", "action_taken": "another way", "tools_used": [], "summary": "anew"}

    async def _pre_commit(self) -> Mapping[str, Any]:
        seen = await self.session.review_changes()
        return {
            "reviewed_files": [each["file"] for each in seen["files"]],
            "commit_message": "Retry in load",
            "tools_used": ["review_changes"],
            "summary": "reviewed",
        }

    async def _quality_review(self) -> Mapping[str, Any]:
        return {"quality_score": 9, "issues": [], "tools_used": [], "summary": "good"}

    async def _merge(self) -> Mapping[str, Any]:
        return {"summary": "load retries three times"}
