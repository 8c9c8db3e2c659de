"""Registers task lists and checks reports: what is missing, doubled, early or unproven. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from runtime.contracts.contract import Limits
from runtime.contracts.payloads import says_something, visible
from runtime.contracts.session_state import ChecklistItem, Proof, SessionState, Task
from runtime.contracts.shared_evidence import overused

# What is told again with every list of tasks is short.
MAX_CHARS: Mapping[str, int] = {"id": 64, "description": 2_000}
MAX_ITEM_CHARS = 500
# Description and items of one task together, in bytes: its answer then stays within 4,000 tokens.
MAX_TASK_BYTES = 3_600
MAX_SHOWN_CHARS = 60
KEPT = (
    "a task that is opened again keeps its items in their words, and more may be added; what shall not be done is "
    "reported as skipped, with the reason"
)


def registered(state: SessionState, given: Sequence[Mapping[str, Any]], limits: Limits) -> tuple[Task, ...] | list[str]:
    """Return the tasks that a complete list registers, or what is wrong with it.

    A task is completed only where this server accepted its report; a task that `fixes` another one inherits its count
    of failures, and every task that is known must be listed.
    """
    problems = list(_list_problems(state, given, limits))
    return problems or tuple(_task(state, entry) for entry in given)


def is_repeat(state: SessionState, given: Sequence[Mapping[str, Any]], limits: Limits) -> bool:
    """Return whether a list registers exactly what is registered already."""
    tasks = registered(state.with_(revert_reason=""), given, limits)
    return isinstance(tasks, tuple) and [_identity(task) for task in tasks] == [_identity(task) for task in state.tasks]


def reported(
    state: SessionState,
    given: Mapping[str, Any],
    refuted: Mapping[str, str],
    limits: Limits,
    proofs: Mapping[str, Proof] | None = None,
) -> tuple[Task, ...] | list[str]:
    """Return all tasks after a report on the next open one, or what is wrong with the report.

    `refuted`: item → why its evidence does not hold, from who looked at the files; `proofs`: item → what it rests on.
    """
    waiting = state.open_tasks
    task_id = str(given["task_id"])
    if not waiting:
        return ["task_id: every task is completed"]
    task = waiting[0]
    if task_id != task.id:
        known = state.task(task_id)
        why = "is completed already" if known is not None and known.status == "completed" else "is not the next one"
        return [f"task_id: '{task_id[:MAX_SHOWN_CHARS]}' {why}; report on '{task.id}'"]
    problems = list(_report_problems(task, given["checklist"], refuted, limits))
    by_item = {entry["item"]: entry for entry in given["checklist"]}
    seen = proofs or {}
    if not problems:
        evidence = {item: str(entry.get("evidence") or "") for item, entry in by_item.items()}
        problems = overused(task, evidence, seen, state.tasks)
    if problems:
        return problems
    done = tuple(_reported_item(item.item, by_item[item.item], seen.get(item.item)) for item in task.checklist)
    reason = task.revert_reason if task.fixes else ""
    completed = msgspec.structs.replace(task, checklist=done, status="completed", revert_reason=reason)
    return tuple(completed if other.id == task.id else other for other in state.tasks)


def with_failures(tasks: Sequence[Task], failed: Sequence[str]) -> tuple[Task, ...]:
    """Return tasks with one more failure of those that are named, and of what they fix; of all where none is."""
    named = set(failed) or {task.id for task in tasks}
    by_id = {task.id: task for task in tasks}
    waiting = list(named)
    while waiting:
        task = by_id.get(waiting.pop())
        if task is not None and task.fixes and task.fixes not in named:
            named.add(task.fixes)
            waiting.append(task.fixes)
    return tuple(msgspec.structs.replace(task, failure_count=task.failure_count + (task.id in named)) for task in tasks)


def without_failures(tasks: Sequence[Task]) -> tuple[Task, ...]:
    """Return tasks whose failures are counted from 0 again."""
    return tuple(msgspec.structs.replace(task, failure_count=0) for task in tasks)


def _identity(task: Task) -> tuple[str, str, tuple[str, ...]]:
    return task.id, task.description, tuple(item.item for item in task.checklist)


def _list_problems(state: SessionState, given: Sequence[Mapping[str, Any]], limits: Limits) -> Iterator[str]:
    if len(given) > limits.max_tasks:
        yield f"tasks: {len(given)} tasks, at most {limits.max_tasks} expected"
        return
    ids = [str(entry["id"]) for entry in given]
    for task_id in sorted({task_id for task_id in ids if ids.count(task_id) > 1}):
        yield f"tasks: '{task_id[:MAX_SHOWN_CHARS]}' stands {ids.count(task_id)} times"
    seen: dict[str, str] = {}
    for task_id in dict.fromkeys(ids):
        other = seen.setdefault(_plain(task_id), task_id)
        if other != task_id:
            shown = f"{other[:MAX_SHOWN_CHARS]!r} and {task_id[:MAX_SHOWN_CHARS]!r}"
            yield f"tasks: {shown} look alike; give tasks ids that differ in more than case and blanks"
    for task in state.tasks:
        if task.id not in ids:
            yield f"tasks: '{task.id}' is missing; always send the complete list, completed tasks included"
    if not any(entry["status"] == "pending" for entry in given):
        yield "tasks: none is pending; list what is to be done"
    if not any(entry["status"] == "pending" and entry.get("fixes") for entry in given) and state.revert_reason:
        reopened = [e for e in given if e["status"] == "pending" and _is_completed(state, str(e["id"]))]
        if not reopened and not state.open_tasks:
            yield "tasks: none of the pending ones says what it `fixes`, and no completed one was opened again"
    for place, entry in enumerate(given):
        yield from _task_problems(state, place, entry, limits)


def _plain(task_id: str) -> str:
    """Return an id as a reader sees it: without case, marks that are not seen, and blanks at its ends."""
    return " ".join(visible(unicodedata.normalize("NFKC", task_id)).casefold().split())


def _is_completed(state: SessionState, task_id: str) -> bool:
    known = state.task(task_id)
    return known is not None and known.status == "completed"


def _task_problems(state: SessionState, place: int, entry: Mapping[str, Any], limits: Limits) -> Iterator[str]:
    where, task_id = f"tasks[{place}]", str(entry["id"])
    for field, most in MAX_CHARS.items():
        if len(str(entry[field])) > most:
            yield f"{where}.{field}: {len(str(entry[field]))} characters, at most {most} expected"
    fixes = str(entry.get("fixes") or "")
    if entry["status"] == "completed" and not _is_completed(state, task_id):
        yield f"{where}.status: '{task_id}' was never reported and accepted; register it as pending"
    if fixes and state.task(fixes) is None:
        yield f"{where}.fixes: no task is registered as '{fixes}'"
    if fixes and fixes == task_id:
        yield f"{where}.fixes: a task cannot fix itself"
    if fixes and not str(entry.get("revert_reason") or "").strip():
        yield f"{where}.revert_reason: missing; say what went wrong with '{fixes}'"
    yield from _size_problems(where, entry)
    checklist = entry["checklist"]
    if len(checklist) > limits.max_checklist_items:
        yield f"{where}.checklist: {len(checklist)} items, at most {limits.max_checklist_items} expected"
    items = [str(item["item"]) for item in checklist]
    for text in sorted({text for text in items if items.count(text) > 1}):
        yield f"{where}.checklist: '{text[:60]}' stands {items.count(text)} times"
    known = state.task(task_id)
    dropped = [item.item for item in known.checklist if item.item not in items] if known is not None else []
    for text in dropped if entry["status"] == "pending" else ():
        yield f"{where}.checklist: '{text[:MAX_SHOWN_CHARS]}' of '{task_id[:MAX_SHOWN_CHARS]}' is missing; {KEPT}"
    if entry["status"] == "pending" and any(item["status"] != "pending" for item in checklist):
        yield f"{where}.checklist: the items of a pending task are pending; report on them when they are done"


def _size_problems(where: str, entry: Mapping[str, Any]) -> Iterator[str]:
    checklist = entry["checklist"]
    for number, item in enumerate(checklist):
        if len(str(item["item"])) > MAX_ITEM_CHARS:
            yield f"{where}.checklist[{number}].item: {len(item['item'])} characters, at most {MAX_ITEM_CHARS} expected"
    size = sum(len(text.encode()) for text in (str(entry["description"]), *(str(item["item"]) for item in checklist)))
    if size > MAX_TASK_BYTES:
        yield f"{where}: description and items have {size} bytes, at most {MAX_TASK_BYTES} expected; divide the task"


def _task(state: SessionState, entry: Mapping[str, Any]) -> Task:
    known = state.task(str(entry["id"]))
    if known is not None and entry["status"] == "completed":
        return known
    fixes = str(entry.get("fixes") or "")
    of_fixed = state.task(fixes)
    count = max(known.failure_count if known else 0, of_fixed.failure_count if of_fixed else 0)
    return Task(
        str(entry["id"]),
        str(entry["description"]),
        tuple(ChecklistItem(str(item["item"])) for item in entry["checklist"]),
        failure_count=count,
        fixes=fixes,
        revert_reason=str(entry.get("revert_reason") or ""),
    )


def _report_problems(
    task: Task, checklist: Sequence[Mapping[str, Any]], refuted: Mapping[str, str], limits: Limits
) -> Iterator[str]:
    wanted = [item.item for item in task.checklist]
    given = [str(entry["item"]) for entry in checklist]
    for item in wanted:
        if given.count(item) != 1:
            why = "is not reported" if item not in given else f"is reported {given.count(item)} times"
            yield f"checklist: '{item}' {why}; report each registered item once, in its own words"
    for item in dict.fromkeys(given):
        if item not in wanted:
            yield f"checklist: '{item[:120]}' is no item of '{task.id}'"
    for place, entry in enumerate(checklist):
        yield from _item_problems(f"checklist[{place}]", entry, refuted, limits)


def _item_problems(where: str, entry: Mapping[str, Any], refuted: Mapping[str, str], limits: Limits) -> Iterator[str]:
    if entry["status"] == "pending":
        yield f"{where}.status: still pending; finish it, or skip it with a reason"
    elif entry["status"] == "skipped":
        reason = visible(str(entry.get("reason") or ""))
        if len(reason) < limits.min_reason_chars:
            yield f"{where}.reason: {len(reason)} characters, at least {limits.min_reason_chars} expected"
        elif limits.min_reason_chars and not says_something(reason):
            yield f"{where}.reason: it has no letter or digit; say why the item is left out"
    elif not str(entry.get("evidence") or "").strip():
        yield f"{where}.evidence: missing; a done item is proven by path:line, path:first-last or deleted: path"
    elif entry["item"] in refuted:
        yield f"{where}.evidence: {refuted[entry['item']]}"


def _reported_item(item: str, entry: Mapping[str, Any], proof: Proof | None) -> ChecklistItem:
    evidence, reason = str(entry.get("evidence") or ""), str(entry.get("reason") or "")
    return ChecklistItem(item, entry["status"], evidence, reason, proof)
