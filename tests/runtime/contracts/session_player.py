"""Plays an agent that keeps to the shipped contract, so that a test can change one thing and see what comes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import configs
from runtime.contracts.contract import Contract
from runtime.contracts.decisions import Decision, answered, started, submitted
from runtime.contracts.loading import load_contract
from runtime.contracts.observations import Observed
from runtime.contracts.session_state import SessionState, ToolUse, Workplace

CONTRACT = load_contract(Path(str(configs.__path__[0])) / "contracts" / "code_change.yaml")
QUERY = "Make `load` retry when the network fails, at most three times, and leave the cache alone"
TASKS = (
    {
        "id": "t1",
        "description": "retry in load",
        "status": "pending",
        "checklist": [{"item": "retry loop in load.py", "status": "pending"}],
    },
    {
        "id": "t2",
        "description": "test it",
        "status": "pending",
        "checklist": [{"item": "test for the retry", "status": "pending"}],
    },
)

PAYLOADS: Mapping[str, Mapping[str, Any]] = {
    "BRANCH_INTERVENTION": {"choice": "continue", "tools_used": [], "summary": "they stay"},
    "DOCUMENT_RESEARCH": {"documents_reviewed": [], "tools_used": [], "summary": "no documents"},
    "QUERY_FRAME": {
        "action_type": {"value": "modify", "quote": "Make"},
        "target_symbols": [{"value": "load", "quote": "load"}],
        "tools_used": [],
        "summary": "load shall retry",
    },
    "EXPLORATION": {
        "explored_files": ["load.py", "cache.py", "net.py"],
        "findings": ["load calls fetch once"],
        "tools_used": ["find_definitions", "find_references"],
        "summary": "load is the only caller",
    },
    "Q1": {"needs_more_information": False, "reason": "all is known"},
    "SEMANTIC": {"search_results": ["nothing else"], "tools_used": ["semantic_search"], "summary": "nothing else"},
    "Q2": {"has_unverified_hypotheses": False, "reason": "none"},
    "VERIFICATION": {
        "hypotheses_verified": [{"hypothesis": "fetch raises OSError", "confirmed": True, "evidence": "net.py:3"}],
        "tools_used": [],
        "summary": "it raises OSError",
    },
    "Q3": {"needs_impact_analysis": False, "reason": "one caller"},
    "IMPACT_ANALYSIS": {
        "impact_summary": [{"file": "load.py", "finding": "changed"}],
        "tools_used": ["analyze_impact"],
        "summary": "one file",
    },
    "READY_PLANNING": {"tasks": list(TASKS), "tools_used": [], "summary": "two tasks"},
    "READY_COMPLETION": {"summary": "load retries"},
    "POST_IMPL_VERIFY": {"passed": True, "details": "tests pass", "tools_used": [], "summary": "it works"},
    "VERIFY_INTERVENTION": {"prompt_used": "stuck", "action_taken": "another way", "tools_used": [], "summary": "anew"},
    "PRE_COMMIT": {
        "reviewed_files": ["load.py"],
        "commit_message": "Retry in load",
        "tools_used": ["review_changes"],
        "summary": "reviewed",
    },
    "QUALITY_REVIEW": {"quality_score": 9, "issues": [], "tools_used": [], "summary": "good"},
    "MERGE": {"summary": "load retries three times"},
}
TOOLS: Mapping[str, Sequence[str]] = {
    "EXPLORATION": ("find_definitions", "find_references"),
    "SEMANTIC": ("semantic_search",),
    "IMPACT_ANALYSIS": ("analyze_impact",),
    "READY_IMPLEMENTATION": ("check_write_target",),
    "PRE_COMMIT": ("review_changes",),
}
# Where nothing is demanded by name, but something was to be looked for.
SOUGHT: Mapping[str, Sequence[str]] = {"DOCUMENT_RESEARCH": ("search_files",)}
CHANGED = Observed(changed=("load.py",))


class Player:
    """Holds a session, and submits what each phase expects unless it is told otherwise."""

    def __init__(
        self, intent: str = "MODIFY", flags: Sequence[str] = (), contract: Contract = CONTRACT, **fields: Any
    ) -> None:
        self.contract = contract
        state = SessionState("s-1", "/r", intent, QUERY, contract.digest, flags=tuple(flags), **fields)
        self.state = started(contract, state).state
        self.last = Decision(self.state)
        self.at_ms = 0

    def use(self, *tools: str) -> None:
        """Record calls of tools as the server's log would."""
        for tool in tools:
            rule = self.contract.tools.get(tool)
            kind = rule.kind if rule is not None else ""
            use = ToolUse(tool, self.state.visit, kind, ("load.py",))
            self.state = self.state.with_use(use, {"load.py": ((1, 9),), "cache.py": ((1, 9),), "net.py": ((1, 9),)})

    def payload(self) -> dict[str, Any]:
        """Return what the phase expects."""
        if self.state.phase == "READY_IMPLEMENTATION":
            task = self.state.open_tasks[0]
            items = [{"item": item.item, "status": "done", "evidence": "load.py:3"} for item in task.checklist]
            return {"task_id": task.id, "checklist": items, "tools_used": ["check_write_target"], "summary": "done"}
        return dict(PAYLOADS[self.state.phase])

    def submit(
        self,
        payload: object = None,
        *,
        observed: Observed = CHANGED,
        count: object = None,
        tools: Sequence[str] | None = None,
        **changes: Any,
    ) -> Decision:
        """Use the tools that the phase demands and submit, with some fields changed; keep the state that results."""
        self.use(*({**SOUGHT, **TOOLS}.get(self.state.phase, ()) if tools is None else tools))
        given = {**self.payload(), **changes} if payload is None else payload
        self.at_ms += 1
        count = self.state.compaction_count if count is None else count
        self.last = submitted(self.contract, self.state, given, count, observed, self.at_ms)
        self.state = self.last.state
        for effect in self.last.effects:
            if effect.kind == "branch":
                self.state = self.state.with_(place=Workplace("/r", branch="llm_task_s-1"))
        return self.last

    def go_to(self, phase: str) -> Player:
        """Submit what is expected until the session is in a phase."""
        for _ in range(40):
            if self.state.phase == phase:
                return self
            decided = self.submit()
            assert not decided.code, decided.problems
        raise AssertionError(f"{phase} was not reached; the session is in {self.state.phase}")

    def fail(self, *tasks: str) -> Decision:
        """Report that verification failed."""
        self.go_to("POST_IMPL_VERIFY")
        return self.submit(passed=False, failed_tasks=list(tasks), details="a test is red")

    def answer(self, text: str, *, goes_on: bool = True) -> Decision:
        """Answer an escalation as a person."""
        self.last = answered(self.contract, self.state, text, goes_on=goes_on, at_ms=self.at_ms)
        self.state = self.last.state
        return self.last

    def replan(self) -> Decision:
        """Send the complete list after a revert, with a task that fixes the first."""
        done = [
            {"id": task.id, "description": task.description, "status": "completed", "checklist": [_done(task)]}
            for task in self.state.tasks
        ]
        number = len(self.state.tasks) + 1
        fix = {
            "id": f"t{number}",
            "description": "mend it",
            "status": "pending",
            "checklist": [{"item": f"mend {number}", "status": "pending"}],
            "fixes": "t1",
            "revert_reason": "a test is red",
        }
        return self.submit(tasks=[*done, fix])

    def path(self) -> list[str]:
        """Return the phases from here to the end of a session that keeps to the contract."""
        visited = [self.state.phase]
        while not self.state.is_over:
            decided = self.submit()
            assert not decided.code, (self.state.phase, decided.problems)
            if self.state.phase != visited[-1]:
                visited.append(self.state.phase)
        return visited


def _done(task: Any) -> dict[str, Any]:
    return {"item": task.checklist[0].item, "status": "done", "evidence": "load.py:3"}
