"""Keeps the record of one `jeeves fix` in the state folder: the plan, and what became of it.

    fixes/records/ID/plan.json        what was asked for, written once
    fixes/records/ID/results.jsonl    a line for each run that began, and one for each that ended
    fixes/records/ID/baseline.json    what checks and tests said before
    fixes/records/ID/ended            written when nothing is left to be done

Lines are appended whole and flushed to disk; the end of a line that a kill cut off is passed over.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from runtime.errors import UnknownNameError

_OPEN = "not done yet"
_MENDED = frozenset({"fixed", "gone"})


class FixPlan(msgspec.Struct, frozen=True):
    """Describes one `jeeves fix`: the repository, the commit that it begins on, its branch, and its requests.

    `requests`: the tasks of the runs, as `violation_fix` takes them, those of a file behind each other. `left`: the
    violations that are not tried, with the reason.
    """

    fix_id: str
    repository: str
    base_commit: str
    branch: str
    created_at_ms: int
    requests: tuple[dict[str, Any], ...]
    left: tuple[dict[str, Any], ...] = ()
    told: tuple[str, ...] = ()
    concurrency: int = 1
    is_dry_run: bool = False
    reasoner: str = "rules"


class FixResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """Records one run: `name` of its request, and how it ended; `fix` is None while it has only begun.

    `dropped`: why its commit was taken back when all fixes were tested together.
    """

    name: str
    run_id: str = ""
    fix: dict[str, Any] | None = None
    terminal_reason: str = ""
    dropped: str = ""
    usage: dict[str, Any] = {}


def endings(plan: FixPlan, results: Mapping[str, FixResult]) -> dict[str, tuple[str, str]]:
    """Return how each request ended, and why, by its name; `open`: it has not.

    A violation that went with the fix of another one is back if a fix of its file was taken back.
    """
    paths = {str(request["name"]): request["violation"]["path"] for request in plan.requests}
    undone = {paths[name]: result.dropped for name, result in results.items() if result.dropped and name in paths}
    found: dict[str, tuple[str, str]] = {}
    for name, path in paths.items():
        result = results.get(name)
        fix = (result.fix if result is not None else None) or {}
        ending, reason = str(fix.get("ending", "open")), str(fix.get("reason", _OPEN))
        if result is not None and result.dropped:
            ending, reason = "reverted", result.dropped
        elif ending == "gone" and path in undone:
            ending, reason = "reverted", undone[path]
        found[name] = ending, reason
    return found


def left_over(plan: FixPlan, results: Mapping[str, FixResult]) -> int:
    """Return how many violations are still there: not tried, tried in vain, taken back, or fixed in no commit."""
    if plan.is_dry_run:
        return len(plan.left) + len(plan.requests)
    return len(plan.left) + sum(ending not in _MENDED for ending, _ in endings(plan, results).values())


class FixRecord:
    """Reads and writes the record of one `jeeves fix`."""

    def __init__(self, fixes: Path, fix_id: str) -> None:
        self.folder = fixes / "records" / fix_id
        self.baseline_file = self.folder / "baseline.json"

    @classmethod
    def of(cls, fixes: Path, fix_id: str) -> FixRecord:
        """Return the record of that id. Raises UnknownNameError that lists the newest ones."""
        known = cls.known(fixes)
        if fix_id not in known:
            newest = ", ".join(known[-5:]) or "none"
            raise UnknownNameError(f"no fix has the id '{fix_id}'; the newest are {newest}", name=fix_id, known=known)
        return cls(fixes, fix_id)

    @staticmethod
    def known(fixes: Path) -> list[str]:
        """Return the ids of all records, oldest first."""
        return sorted(path.parent.name for path in (fixes / "records").glob("*/plan.json"))

    def begin(self, plan: FixPlan) -> None:
        """Write the plan."""
        self.folder.mkdir(parents=True, exist_ok=True)
        fresh = self.folder / "plan.new"
        fresh.write_bytes(msgspec.json.encode(plan))
        fresh.replace(self.folder / "plan.json")

    @property
    def has_ended(self) -> bool:
        """True once every run has ended and all fixes were tested together."""
        return (self.folder / "ended").exists()

    def end(self) -> None:
        """Note that nothing is left to be done."""
        (self.folder / "ended").touch()

    def plan(self) -> FixPlan:
        """Return the plan."""
        return msgspec.json.decode((self.folder / "plan.json").read_bytes(), type=FixPlan)

    def add(self, result: FixResult) -> None:
        """Append a result and flush it to disk."""
        with (self.folder / "results.jsonl").open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            # Where a kill cut the last line off, this one must not become part of it.
            file.write(b"\n" + msgspec.json.encode(result) + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def results(self) -> dict[str, FixResult]:
        """Return the latest result of each run by the name of its request."""
        try:
            lines = (self.folder / "results.jsonl").read_bytes().split(b"\n")
        except FileNotFoundError:
            return {}
        found: dict[str, FixResult] = {}
        for line in lines:
            try:
                result = msgspec.json.decode(line, type=FixResult)
            except msgspec.DecodeError:
                continue  # empty, or cut off by a kill
            found[result.name] = result
        return found
