"""Opens tasks again whose accepted evidence does not hold any more. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from runtime.contracts.observations import MAX_NAMED, Observed, Outcome
from runtime.contracts.session_state import ChecklistItem, SessionState, Task
from runtime.contracts.shared_evidence import MAX_ITEM_CHARS, Lapse

LAPSED = "its evidence does not hold any more: "
REOPENED = (
    "not accepted: the evidence of these items does not hold any more, so their tasks are open again. Bring the work "
    "back and report them with where it stands now, or skip an item with a reason"
)


def after_proofs(outcome: Outcome, state: SessionState, observed: Observed) -> Outcome:
    """Return an outcome, or where accepted evidence has lapsed that its tasks are opened again, and nothing else."""
    if not observed.lapsed or observed.unpermitted or outcome.has_failed or outcome.has_moved:
        return outcome
    told = [
        f"'{each.item[:MAX_ITEM_CHARS]}' ({each.task[:MAX_ITEM_CHARS]}): {each.why}"
        for each in observed.lapsed[:MAX_NAMED]
    ]
    if len(observed.lapsed) > MAX_NAMED:
        told.append(f"and {len(observed.lapsed) - MAX_NAMED} more items")
    notes = (REOPENED, *told)
    return Outcome(state.with_(tasks=reopened(state.tasks, observed.lapsed)), notes=notes, has_lapsed=True)


def reopened(tasks: Sequence[Task], lapses: Sequence[Lapse]) -> tuple[Task, ...]:
    """Return tasks with those pending again whose evidence has lapsed; their other items stay as reported."""
    why = {(each.task, each.item): each.why for each in lapses}
    return tuple(_reopened(task, why) for task in tasks)


def _reopened(task: Task, why: Mapping[tuple[str, str], str]) -> Task:
    lost = [entry.item for entry in task.checklist if (task.id, entry.item) in why]
    if not lost:
        return task
    items = tuple(ChecklistItem(entry.item) if entry.item in lost else entry for entry in task.checklist)
    told = [f"'{item[:MAX_ITEM_CHARS]}': {why[task.id, item]}" for item in lost[:MAX_NAMED]]
    more = [f"and {len(lost) - MAX_NAMED} more items"] if len(lost) > MAX_NAMED else []
    reason = f"{LAPSED}{'; '.join([*told, *more])}"
    return msgspec.structs.replace(task, checklist=items, status="pending", revert_reason=reason)
