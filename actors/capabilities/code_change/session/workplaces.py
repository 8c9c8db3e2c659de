"""Carries out what a decision asks of git, and looks at what a decision needs to know.

Effects block: they are run in a thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from actors.capabilities.code_change.evidence.changed_lines import (
    ChangedLines,
    changed_lines,
    digests_of,
)
from actors.capabilities.code_change.evidence.checklist_evidence import refuted_items
from actors.capabilities.code_change.evidence.lapsed_evidence import lapsed_evidence
from actors.capabilities.code_change.evidence.proofs import proofs_of
from actors.capabilities.code_change.evidence.write_guard import is_ours, unpermitted
from actors.capabilities.code_change.session.change_base import foreign_note, session_changes, work_tree
from actors.capabilities.code_change.session.change_notes import hollow_note, lost_tests_note
from actors.capabilities.code_change.session.check_commands import with_checks
from actors.capabilities.code_change.session.ports import Ports
from actors.capabilities.code_change.session.reviewed_tree import present_tree, unreviewed
from runtime.codebase.git.commits import commit_change, head_of_change, lay_aside, merge_change
from runtime.codebase.git.git_writer import GitWriter
from runtime.codebase.git.linked_trees import BRANCH_PREFIX
from runtime.codebase.git.work_trees import WorkTree, changes_since, digest_of, open_work_tree, printable
from runtime.codebase.git.writable import Writable, writable
from runtime.contracts.contract import Contract
from runtime.contracts.due_checks import has_checks
from runtime.contracts.duties import Demand
from runtime.contracts.observations import Effect, Observed
from runtime.contracts.session_state import Proof, SessionState, Workplace
from runtime.contracts.shared_evidence import Lapse
from runtime.errors import GitWriteError, RepositoryError
from runtime.primitives.own_threads import in_own_thread

MAX_OWN_EDITS = 2_000


def first_place(root: Path) -> Workplace:
    """Return where a session begins: the repository itself, at its commit, if it has one."""
    with GitWriter(root) as git:
        head = (git.private / "HEAD").read_text().strip()
        return Workplace(str(root), git.commit_of("HEAD") or "", head.removeprefix("ref: refs/heads/"))


def watched_place(root: Path) -> Workplace:
    """Return where a session that changes nothing looks: the repository, with the digest of what is edited there."""
    place = first_place(root)
    if not place.base_commit:
        return place
    try:
        with GitWriter(root) as git:
            return _moved(place, main_digest=digest_of(git, is_ours))
    except RepositoryError:
        # What is only looked at need not be in order.
        return place


async def observed(
    contract: Contract, state: SessionState, payload: Mapping[str, Any], demands: frozenset[Demand], ports: Ports
) -> Observed:
    """Return what a decision about a submission must know, and no more. Raises GitWriteError."""
    refuted: Mapping[str, str] = {}
    proofs: Mapping[str, Proof] = {}
    changed: ChangedLines | None = None
    if demands & {"evidence", "diff"} and state.place is not None and state.place.base_commit:
        folder = Path(state.place.folder)
        changed = await in_own_thread(session_changes, state, folder)
    if "evidence" in demands and changed is not None and state.place is not None:
        folder = Path(state.place.folder)
        refuted = await in_own_thread(refuted_items, payload["checklist"], folder, changed)
        proofs = await in_own_thread(proofs_of, payload["checklist"], folder, changed)
    files = changed.files if changed is not None else ()
    similarities: Mapping[str, float] = {}
    if "bands" in demands:
        symbols = [str(entry["value"]) for entry in payload.get("target_symbols") or ()]
        similarities = await ports.similarities(state.query, symbols) if symbols else {}
    changes = changed.changes if changed is not None else ()
    foreign = unpermitted(state, changes, Path(state.place.folder)) if state.place is not None else {}
    head = await in_own_thread(_head_of_branch, state) if "head" in demands else ""
    uncommitted = await in_own_thread(_uncommitted, state) if head else ()
    tests = await in_own_thread(lost_tests_note, state) if "tests" in demands else ""
    hollow = await in_own_thread(hollow_note, state) if "tests" in demands else ""
    tree = await in_own_thread(present_tree, state) if "review" in demands and not foreign else ""
    seen = Observed(
        refuted=refuted,
        proofs=proofs,
        changed=files,
        unpermitted=foreign,
        similarities=similarities,
        head=head,
        uncommitted=uncommitted,
        tests=tests,
        lapsed=await in_own_thread(_lapsed, state, changed, demands, head, uncommitted) if "proofs" in demands else (),
        hollow=hollow,
        present=tree,
        unreviewed=await in_own_thread(unreviewed, state, tree, files) if tree else (),
    )
    if "checks" not in demands or foreign or seen.lapsed or not has_checks(contract):
        return seen
    return await in_own_thread(with_checks, contract, state, payload, seen)


def _lapsed(
    state: SessionState,
    changed: ChangedLines | None,
    demands: frozenset[Demand],
    head: str,
    uncommitted: Sequence[str],
) -> tuple[Lapse, ...]:
    """Return the accepted items whose evidence does not hold in the session's folder any more.

    What is to be merged is the branch's commit: it is judged where the folder shows exactly that. Raises GitWriteError.
    """
    place = state.place
    if place is None or not place.base_commit or not any(task.status == "completed" for task in state.tasks):
        return ()
    folder = Path(place.folder)
    if "head" in demands and (not head or uncommitted or not folder.is_dir()):
        return ()
    seen = changed if changed is not None else session_changes(state, folder)
    return lapsed_evidence(state.tasks, folder, seen)


def own_edits(root: Path, base_commit: str) -> dict[str, str]:
    """Return what the user has not committed, file → digest. Raises GitWriteError."""
    files = changed_lines(root, base_commit, is_ours).files
    if len(files) > MAX_OWN_EDITS:
        raise GitWriteError(
            f"{len(files)} files of {root} are not committed, and without a branch at most {MAX_OWN_EDITS} can be told "
            "apart from the change; commit them, or start without `quick`"
        )
    return digests_of(root, files)


def _head_of_branch(state: SessionState) -> str:
    """Return the commit of the session's branch; empty without one. Raises GitWriteError where it was tampered with."""
    if state.place is None or not state.place.branch:
        return ""
    return head_of_change(Path(state.repository), work_tree(state.place), state.place.head, state.permitted)


def _uncommitted(state: SessionState) -> tuple[str, ...]:
    """Return the files that differ from the branch's commit, new ones that were never permitted aside."""
    assert state.place is not None
    folder = Path(state.place.folder)
    if not folder.is_dir():
        return ()
    with GitWriter(folder) as git:
        head = git.commit_of(f"refs/heads/{state.place.branch}")
        changes = changes_since(git, head, is_ours) if head is not None else ()
        return tuple(
            printable(each.file) for each in changes if each.how != "added" or printable(each.file) in state.permitted
        )


def performed(effect: Effect, state: SessionState, ports: Ports) -> SessionState:
    """Return the state after an effect was carried out; one that was before is not carried out twice.

    Raises GitWriteError, and nothing has changed then.
    """
    assert state.place is not None
    root = Path(state.repository)
    who = writable(root)
    if effect.kind == "branch":
        return _with_branch(state, state.place, who, ports)
    if effect.kind == "branches":
        return _without_stale(effect, state, who, ports)
    tree = work_tree(state.place)
    if effect.kind == "commit":
        changed = session_changes(state, Path(tree.folder))
        if foreign := unpermitted(state, changed.changes, Path(tree.folder)):
            raise GitWriteError(f"{', '.join(foreign)} was changed while the commit was made; review the change again")
        commit = commit_change(
            tree,
            changed.files,
            effect.message,
            state.session_id,
            who.identity,
            state.place.head or state.place.base_commit,
            expected_tree=effect.tree,
            permitted=state.permitted,
        )
        return state.with_(place=_moved(state.place, head=commit))
    said = state.summaries.get("step_19_MERGE", "")
    known, permitted = state.place.head, state.permitted
    moved = foreign_note(state)
    merged = merge_change(root, tree, said, who.identity, ports.work_trees, known, permitted, effect.head)
    place = Workplace(str(root), merged, state.place.base_branch, head=merged)
    return state.with_(place=place, warnings=(*state.warnings, moved) if moved else state.warnings)


def _moved(place: Workplace, **changes: Any) -> Workplace:
    kept = {name: getattr(place, name) for name in place.__struct_fields__}
    return Workplace(**{**kept, **changes})


def _with_branch(state: SessionState, place: Workplace, who: Writable, ports: Ports) -> SessionState:
    root = Path(state.repository)
    folder = ports.work_trees / state.session_id
    made = open_work_tree(who, state.session_id, folder, is_ours, place.base_branch)
    digest = ""
    if made.is_linked:
        with GitWriter(root) as git:
            digest = digest_of(git, is_ours)
    opened = Workplace(
        made.folder,
        made.base_commit,
        made.base_branch,
        made.branch,
        is_worktree=made.is_linked,
        main_digest=digest,
    )
    return state.with_(place=opened)


def _without_stale(effect: Effect, state: SessionState, who: Writable, ports: Ports) -> SessionState:
    """Lay stale branches aside, merge them into the branch that is out, or leave them.

    Those that were made since the person was shown them stay, and so do those that another session drives by now.
    """
    root = Path(state.repository)
    notes = list(state.warnings)
    there = set(ports.stale_of(state)) if effect.choice != "continue" else set()
    for branch in [branch for branch in effect.branches if branch in there]:
        if effect.choice == "delete":
            aside = lay_aside(root, branch, who.identity, ports.work_trees, is_ours, ports.clock.now_ms() / 1000)
            notes.append(f"branch {branch} was deleted; `{aside.restoring}` brings it back within 30 days")
        else:
            tree = WorkTree(str(ports.work_trees / branch.removeprefix(BRANCH_PREFIX)), branch, who.branch, "")
            merge_change(root, tree, "Merged before a new session began.", who.identity, ports.work_trees)
            notes.append(f"branch {branch} was merged into {who.branch}")
    return state.with_(warnings=tuple(notes), place=first_place(root))


def laid_aside(root: Path, branches: Sequence[str], ports: Ports) -> dict[str, Any]:
    """Delete branches of sessions and keep their heads; return which, how each comes back, and which stay and why."""
    who = writable(root).identity
    deleted, kept = [], []
    for branch in branches:
        try:
            aside = lay_aside(root, branch, who, ports.work_trees, is_ours, ports.clock.now_ms() / 1000)
        except RepositoryError as error:
            kept.append({"branch": branch, "reason": error.message})
        else:
            deleted.append({"branch": branch, "restore": aside.restoring})
    return {"deleted": deleted, **({"kept": kept} if kept else {})}
