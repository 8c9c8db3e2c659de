"""Finds checklist items that rest on the same changed lines, and lines that prove too many. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from runtime.contracts.session_state import Proof, Task

MAX_DOUBTS = 10
MAX_ITEM_CHARS = 60
MAX_NAMED = 6
# What differs as a whole, by its mode or as bytes, or is gone, has no lines to count: it stands for so many.
WHOLE_LINES = 4
MAX_FILE_CHARS = 200
UNCLAIMED = "changed, but no accepted item names them as evidence: "
SKIPPED = "these items were skipped, which the person should hear: "
MAX_REASON_CHARS = 120
MAX_SKIPS = 12


class Lapse(msgspec.Struct, frozen=True):
    """Names an accepted item whose evidence does not hold any more, and why."""

    task: str
    item: str
    why: str


def overused(task: Task, evidence: Mapping[str, str], proofs: Mapping[str, Proof], tasks: Sequence[Task]) -> list[str]:
    """Return what is wrong with a report whose lines prove too many items: one line proves two, two lines three.

    `evidence` and `proofs`: done item → what was named, and what it came to. Items of tasks that this one mends, or
    that mend it, do not count: they are about the same lines.
    """
    known = _by_digest(other for other in tasks if other.id != task.id and not _are_kin(task, other, tasks))
    problems = []
    for place, item in enumerate(entry.item for entry in task.checklist):
        proof = proofs.get(item)
        if proof is None:
            continue
        others = known[proof.digest]
        if len(others) > (proof.lines or WHOLE_LINES):
            problems.append(
                f"checklist[{place}].evidence: {evidence.get(item, '')[:200]} is {_lines(proof.lines)} and proves "
                f"{len(others)} items already ({_named(others)}); name the lines that decide "
                f"'{item[:MAX_ITEM_CHARS]}', or skip it with a reason"
            )
        others.append((task.id, item))
    return problems


def doubts_of(tasks: Sequence[Task]) -> list[str]:
    """Return what a reviewer should know of accepted evidence: shared lines, and what its place makes doubtful."""
    found = [
        f"{_named(items)} are proven by the same {_lines(lines) if lines else 'place'}, {where}"
        for items, lines, where in _shared(tasks)
    ]
    for task in tasks:
        for item in task.checklist:
            if item.proof is not None and item.proof.doubt:
                found.append(f"{_named([(task.id, item.item)])}: {item.proof.doubt}")
    more = len(found) - MAX_DOUBTS
    return [*found[:MAX_DOUBTS], f"and {more} more doubts of this kind"] if more > 0 else found


def unclaimed(tasks: Sequence[Task], changed: Sequence[str]) -> str:
    """Return which changed files no accepted item names as its evidence, as a sentence; empty where there is none.

    Tasks of which every item was skipped are named with them.
    """
    done = {_file_of(item.evidence) for task in tasks for item in task.checklist if item.status == "done"}
    files = [file for file in changed if file not in done]
    if not files:
        return ""
    more = f" and {len(files) - MAX_NAMED} more" if len(files) > MAX_NAMED else ""
    listed = ", ".join(file[:MAX_FILE_CHARS] for file in files[:MAX_NAMED]) + more
    idle = [task.id[:MAX_ITEM_CHARS] for task in tasks if is_all_skipped(task)]
    if not idle:
        return f"{UNCLAIMED}{listed}"
    which = ", ".join(idle[:MAX_NAMED]) + (f" and {len(idle) - MAX_NAMED} more" if len(idle) > MAX_NAMED else "")
    return f"{UNCLAIMED}{listed}; every item was skipped of: {which}"


def skips_of(tasks: Sequence[Task]) -> str:
    """Return which items were skipped and why, as a sentence; empty where none was."""
    found = [
        f"{_named([(task.id, item.item)])}: {item.reason[:MAX_REASON_CHARS]}"
        for task in tasks
        for item in task.checklist
        if task.status == "completed" and item.status == "skipped"
    ]
    more = f"; and {len(found) - MAX_SKIPS} more" if len(found) > MAX_SKIPS else ""
    return f"{SKIPPED}{'; '.join(found[:MAX_SKIPS])}{more}" if found else ""


def is_all_skipped(task: Task) -> bool:
    """Return whether a completed task was reported without a single item done."""
    return task.status == "completed" and all(item.status == "skipped" for item in task.checklist)


def _file_of(evidence: str) -> str:
    text = evidence.strip()
    return text.partition(":")[2].strip() if text.startswith("deleted:") else text.rpartition(":")[0]


def _shared(tasks: Sequence[Task]) -> Iterator[tuple[list[tuple[str, str]], int, str]]:
    by_digest = _by_digest(tasks)
    for task in tasks:
        for item in task.checklist:
            if item.proof is None:
                continue
            items = by_digest.pop(item.proof.digest, [])
            if len(items) > 1:
                yield items, item.proof.lines, item.evidence[:200]


def _by_digest(tasks: Iterator[Task] | Sequence[Task]) -> defaultdict[str, list[tuple[str, str]]]:
    found: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for task in tasks:
        for item in task.checklist:
            if item.proof is not None:
                found[item.proof.digest].append((task.id, item.item))
    return found


def _are_kin(task: Task, other: Task, tasks: Sequence[Task]) -> bool:
    return task.id in _mended_by(other, tasks) or other.id in _mended_by(task, tasks)


def _mended_by(task: Task, tasks: Sequence[Task]) -> set[str]:
    """Return the ids of the tasks that a task mends, directly or through others."""
    fixed = {each.id: each.fixes for each in tasks}
    found: set[str] = set()
    name = task.fixes
    while name and name not in found:
        found.add(name)
        name = fixed.get(name, "")
    return found


def _named(items: Sequence[tuple[str, str]]) -> str:
    shown = [f"'{item[:MAX_ITEM_CHARS]}' ({task[:MAX_ITEM_CHARS]})" for task, item in items[:MAX_NAMED]]
    return ", ".join(shown) + (f" and {len(items) - MAX_NAMED} more" if len(items) > MAX_NAMED else "")


def _lines(count: int) -> str:
    if not count:
        return "a whole file"
    return "1 changed line" if count == 1 else f"{count} changed lines"
