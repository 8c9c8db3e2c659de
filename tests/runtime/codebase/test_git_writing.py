"""Changes to a repository: branches, commits and merges touch nothing of the user's and run no program."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from runtime.codebase.git import commits
from runtime.codebase.git.commits import commit_change, lay_aside, merge_change, task_branches
from runtime.codebase.git.git_writer import GitWriter
from runtime.codebase.git.identity import Identity
from runtime.codebase.git.lock_marks import remove_abandoned, take_marked
from runtime.codebase.git.work_trees import WorkTree, changes_since, digest_of, open_work_tree
from runtime.codebase.git.writable import writable
from runtime.errors import GitWriteError

WHO = Identity("A Tester", "tester@example.org")
OURS = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM")


def git(folder: Path, *words: str, check: bool = True) -> str:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", *words], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert not check or done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = (tmp_path / "project").resolve()
    made.mkdir()
    git(made, "init", "-q", "-b", "main")
    git(made, "config", "user.name", WHO.name)
    git(made, "config", "user.email", WHO.email)
    (made / "a.py").write_text("a = 1\n")
    (made / "b.py").write_text("b = 1\n")
    (made / "sub").mkdir()
    (made / "sub" / "c.py").write_text("c = 1\n")
    git(made, "add", "-A")
    git(made, "commit", "-qm", "first")
    return made


def is_ours(file: str) -> bool:
    return file.startswith(".code-intel/")


def opened(root: Path, name: str = "s1") -> WorkTree:
    return open_work_tree(writable(root), name, root.parent / "trees" / name, is_ours)


def changed(tree: WorkTree) -> list[tuple[str, str]]:
    with GitWriter(Path(tree.folder)) as writer:
        return [(change.file, change.how) for change in changes_since(writer, tree.base_commit, is_ours)]


def finish(root: Path, tree: WorkTree, files: Sequence[str], known: str = "") -> str:
    return merge_change(root, tree, "the change", WHO, root.parent / "trees", known)


def test_a_clean_folder_is_switched_to_the_branch_and_back_by_the_merge(root: Path) -> None:
    tree = opened(root)
    assert (tree.folder, tree.is_linked) == (str(root), False)
    assert git(root, "branch", "--show-current") == "llm_task_s1"
    (root / "a.py").write_text("a = 2\n")
    (root / "new.py").write_text("n = 1\n")
    (root / "sub" / "c.py").unlink()
    assert changed(tree) == [("a.py", "modified"), ("new.py", "added"), ("sub/c.py", "deleted")]
    commit = commit_change(tree, ["a.py", "new.py", "sub/c.py"], "Change a", "s1", WHO)
    assert git(root, "status", "--porcelain") == ""
    assert changed(tree) == [("a.py", "modified"), ("new.py", "added"), ("sub/c.py", "deleted")]
    finish(root, tree, ["a.py"], commit)
    assert git(root, "branch", "--show-current") == "main"
    assert git(root, "status", "--porcelain") == ""
    assert git(root, "branch", "--list", "llm_task_*") == ""
    assert "Jeeves-Session: s1" in git(root, "log", "-1", "--format=%B", commit)
    assert git(root, "log", "-1", "--format=%an <%ae>") == "A Tester <tester@example.org>"
    assert (root / "a.py").read_text() == "a = 2\n"
    assert git(root, "fsck", "--strict") == ""


def test_uncommitted_work_is_never_touched_a_work_tree_of_its_own_is_made(root: Path) -> None:
    (root / "b.py").write_text("mine\n")
    (root / "notes.txt").write_text("mine\n")
    tree = opened(root)
    assert tree.is_linked
    assert git(root, "branch", "--show-current") == "main"
    work = Path(tree.folder)
    assert (work / "b.py").read_text() == "b = 1\n"
    assert git(work, "status", "--porcelain") == ""
    (work / "a.py").write_text("a = 2\n")
    commit = commit_change(tree, ["a.py"], "Change a", "s1", WHO)
    finish(root, tree, ["a.py"], commit)
    assert (root / "a.py").read_text() == "a = 2\n"
    assert (root / "b.py").read_text() == "mine\n"
    assert git(root, "status", "--porcelain").split() == ["M", "b.py", "??", "notes.txt"]
    assert not work.exists()
    assert git(root, "worktree", "list").count("\n") == 0


def test_what_init_wrote_makes_no_folder_dirty_and_is_in_no_difference(root: Path) -> None:
    (root / ".code-intel").mkdir()
    (root / ".code-intel" / "config.json").write_text("{}")
    tree = opened(root)
    assert not tree.is_linked
    assert changed(tree) == []


def test_only_the_files_of_the_change_are_committed(root: Path) -> None:
    tree = opened(root)
    (root / "a.py").write_text("a = 2\n")
    (root / "b.py").write_text("b = 2\n")
    git(root, "add", "b.py")
    commit_change(tree, ["a.py"], "Change a", "s1", WHO)
    assert git(root, "show", "--name-only", "--format=", "HEAD") == "a.py"
    assert git(root, "status", "--porcelain") == "M b.py"


def test_a_merge_into_a_branch_that_moved_on_keeps_both(root: Path) -> None:
    tree = opened(root)
    (root / "a.py").write_text("a = 2\n")
    commit = commit_change(tree, ["a.py"], "Change a", "s1", WHO)
    elsewhere = root.parent / "elsewhere"
    git(root, "worktree", "add", "-q", str(elsewhere), "main")
    (elsewhere / "b.py").write_text("b = 2\n")
    git(elsewhere, "commit", "-qam", "change b")
    git(root, "worktree", "remove", str(elsewhere))
    finish(root, tree, ["a.py"], commit)
    assert [(root / name).read_text() for name in ("a.py", "b.py")] == ["a = 2\n", "b = 2\n"]
    assert git(root, "status", "--porcelain") == ""


def test_a_conflict_leaves_both_branches_and_all_files_as_they_were(root: Path) -> None:
    tree = opened(root)
    (root / "a.py").write_text("a = 2\n")
    commit = commit_change(tree, ["a.py"], "Change a", "s1", WHO)
    elsewhere = root.parent / "elsewhere"
    git(root, "worktree", "add", "-q", str(elsewhere), "main")
    (elsewhere / "a.py").write_text("a = 3\n")
    git(elsewhere, "commit", "-qam", "another a")
    before = git(root, "for-each-ref")
    with pytest.raises(GitWriteError) as caught:
        finish(root, tree, ["a.py"], commit)
    assert caught.value.values["conflicts"] == ["a.py"]
    assert git(root, "for-each-ref") == before
    assert (root / "a.py").read_text() == "a = 2\n"
    assert not (root / ".git" / "index.lock").exists()


def test_a_merge_never_overwrites_what_the_user_has_not_committed(root: Path) -> None:
    (root / "a.py").write_text("mine\n")
    tree = opened(root)
    work = Path(tree.folder)
    (work / "a.py").write_text("a = 2\n")
    commit = commit_change(tree, ["a.py"], "Change a", "s1", WHO)
    before = git(root, "for-each-ref")
    with pytest.raises(GitWriteError, match="would overwrite uncommitted work"):
        finish(root, tree, ["a.py"], commit)
    assert (root / "a.py").read_text() == "mine\n"
    assert git(root, "for-each-ref") == before


def test_a_file_that_was_edited_and_is_as_it_was_does_not_stand_in_the_way_of_a_merge(root: Path) -> None:
    (root / "b.py").write_text("mine\n")
    tree = opened(root)
    (Path(tree.folder) / "a.py").write_text("a = 2\n")
    commit = commit_change(tree, ["a.py"], "Change a", "s1", WHO)
    (root / "a.py").write_text("a = 1\n")
    os.utime(root / "a.py", (1_000_000_000, 1_000_000_000))
    finish(root, tree, ["a.py"], commit)
    assert (root / "a.py").read_text() == "a = 2\n"
    assert (root / "b.py").read_text() == "mine\n"


def test_a_merge_that_would_overwrite_something_names_nothing_else(root: Path) -> None:
    (root / "b.py").write_text("mine\n")
    tree = opened(root)
    for name in ("a.py", "new.py", "kept.py"):
        (Path(tree.folder) / name).write_text("a = 2\n")
    commit = commit_change(tree, ["a.py", "new.py", "kept.py"], "Change a", "s1", WHO)
    (root / "a.py").write_text("mine too\n")
    (root / ".git/info/exclude").write_text("new.py\n")
    (root / "new.py").write_text("ignored and mine\n")
    with pytest.raises(GitWriteError, match=r"uncommitted work in .* \(a\.py, new\.py\); commit, stash or move it"):
        finish(root, tree, ["a.py", "new.py", "kept.py"], commit)
    assert (root / "a.py").read_text() == "mine too\n"


def test_a_base_branch_that_is_not_out_moves_without_any_file(root: Path) -> None:
    (root / "b.py").write_text("mine\n")
    tree = opened(root)
    git(root, "switch", "-qc", "other")
    (Path(tree.folder) / "a.py").write_text("a = 2\n")
    commit = commit_change(tree, ["a.py"], "Change a", "s1", WHO)
    finish(root, tree, ["a.py"], commit)
    assert (root / "a.py").read_text() == "a = 1\n"
    assert git(root, "show", "main:a.py") == "a = 2"


def test_what_was_done_before_a_crash_is_not_done_twice(root: Path) -> None:
    tree = opened(root)
    (root / "a.py").write_text("a = 2\n")
    commit = commit_change(tree, ["a.py"], "Change a", "s1", WHO)
    assert commit_change(tree, ["a.py"], "Change a", "s1", WHO) == commit
    merged = finish(root, tree, ["a.py"], commit)
    assert finish(root, tree, ["a.py"], commit) == merged


def test_a_commit_of_the_same_content_that_somebody_else_made_is_refused(root: Path) -> None:
    tree = opened(root)
    (root / "a.py").write_text("a = 2\n")
    git(Path(tree.folder), "commit", "-qam", "mine")
    with pytest.raises(GitWriteError, match="did not make"):
        commit_change(tree, ["a.py"], "Change a", "s1", WHO)


def test_a_merge_that_was_cut_off_is_finished_by_the_next(root: Path) -> None:
    tree = opened(root)
    (root / "a.py").write_text("a = 2\n")
    commit = commit_change(tree, ["a.py"], "Change a", "s1", WHO)
    merged = finish(root, tree, ["a.py"], commit)
    # As it is when the process dies between moving the base branch and switching to it.
    git(root, "update-ref", "refs/heads/llm_task_s1", commit)
    git(root, "symbolic-ref", "HEAD", "refs/heads/llm_task_s1")
    assert finish(root, tree, ["a.py"], commit) == merged
    assert git(root, "branch", "--show-current") == "main"
    assert git(root, "branch", "--list", "llm_task_*") == ""
    assert git(root, "status", "--porcelain") == ""


def test_a_branch_laid_aside_can_be_brought_back_with_what_was_not_committed(root: Path) -> None:
    (root / "b.py").write_text("mine\n")
    tree = opened(root)
    (Path(tree.folder) / "a.py").write_text("unsaved\n")
    assert list(task_branches(root)) == ["llm_task_s1"]
    aside = lay_aside(root, "llm_task_s1", WHO, root.parent / "trees", is_ours, 0)
    assert task_branches(root) == {}
    assert not Path(tree.folder).exists()
    git(root, *aside.restoring.split()[1:])
    assert git(root, "show", "llm_task_s1:a.py") == "unsaved"


def test_what_was_laid_aside_is_forgotten_after_thirty_days(root: Path) -> None:
    for name, after_days in (("s1", 0.0), ("s2", 29.9), ("s3", 30.1)):
        git(root, "branch", f"llm_task_{name}")
        now = 1_800_000_000 + after_days * 86_400
        lay_aside(root, f"llm_task_{name}", WHO, root.parent / "trees", is_ours, now)
    kept = git(root, "for-each-ref", "--format=%(refname)", commits.TRASH)
    assert [name.rsplit("_", 1)[1] for name in kept.splitlines()] == ["s2", "s3"]


def test_the_branch_that_is_out_and_other_branches_are_not_laid_aside(root: Path) -> None:
    opened(root)
    for name in ("llm_task_s1", "main"):
        with pytest.raises(GitWriteError):
            lay_aside(root, name, WHO, root.parent / "trees", is_ours, 0)


@pytest.mark.parametrize("way", ["{trees}/../victim/.git", "{victim}/.git", "", "{trees}/s1/../../victim/.git"])
def test_a_repository_that_lies_of_its_work_trees_has_nothing_else_removed(root: Path, way: str) -> None:
    victim, trees = root.parent / "victim", root.parent / "trees"
    victim.mkdir()
    (trees / "s1").mkdir(parents=True)
    (victim / "kept").write_text("mine")
    git(root, "branch", "llm_task_s1")
    admin = root / ".git" / "worktrees" / "llm_task_s1"
    admin.mkdir(parents=True)
    (admin / "gitdir").write_text(way.format(trees=trees, victim=victim))
    (admin / "HEAD").write_text("ref: refs/heads/llm_task_s1\n")
    (admin / "commondir").write_text("../..\n")
    lay_aside(root, "llm_task_s1", WHO, trees, is_ours, 0)
    assert (victim / "kept").read_text() == "mine"


def trap(path: Path, mark: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_no_program_of_the_repository_runs(root: Path) -> None:
    mark = root.parent / "ran"
    for name in ("pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "post-checkout", "post-merge"):
        trap(root / ".git" / "hooks" / name, mark)
    trap(root.parent / "trap", mark)
    for key in ("core.fsmonitor", "filter.x.clean", "filter.x.smudge", "merge.x.driver", "gpg.program", "core.editor"):
        git(root, "config", key, str(root.parent / "trap"))
    (root / "b.py").write_text("mine\n")
    tree = opened(root)
    (Path(tree.folder) / "a.py").write_text("a = 2\n")
    commit = commit_change(tree, ["a.py"], "Change a", "s1", WHO)
    finish(root, tree, ["a.py"], commit)
    assert not mark.exists()
    assert writable(root).hooks == ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")


def test_a_file_that_needs_a_filter_is_not_committed_without_it(root: Path) -> None:
    (root / ".gitattributes").write_text("*.bin filter=lfs -text\n*.txt -filter\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "attributes")
    tree = opened(root)
    (root / "x.bin").write_text("big\n")
    (root / "x.txt").write_text("small\n")
    before = git(root, "rev-parse", "llm_task_s1")
    with pytest.raises(GitWriteError, match=r"x\.bin \(lfs\)"):
        commit_change(tree, ["x.bin", "x.txt"], "Add x", "s1", WHO)
    assert git(root, "rev-parse", "llm_task_s1") == before
    assert commit_change(tree, ["x.txt"], "Add x", "s1", WHO) != before


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (("checkout", "-q", "--detach"), "HEAD is detached"),
        (("config", "commit.gpgsign", "true"), "have to be signed"),
        (("config", "--unset", "user.name"), "nobody is named as author"),
    ],
)
def test_a_repository_that_cannot_be_changed_says_why(
    root: Path, make: tuple[str, ...], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "HOME", "XDG_CONFIG_HOME", *OURS):
        monkeypatch.delenv(name, raising=False)
    git(root, *make)
    with pytest.raises(GitWriteError, match=reason):
        writable(root)


@pytest.mark.parametrize("name", ["rebase-merge", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG"])
def test_nothing_is_begun_while_something_else_is_under_way(root: Path, name: str) -> None:
    (root / ".git" / name).write_text("")
    with pytest.raises(GitWriteError, match="under way"):
        writable(root)


def test_a_folder_without_commits_and_one_without_git_are_refused(tmp_path: Path) -> None:
    folder = tmp_path.resolve()
    with pytest.raises(GitWriteError, match="no git repository"):
        writable(folder)
    git(folder, "init", "-q")
    git(folder, "config", "user.name", "x")
    git(folder, "config", "user.email", "x@example.org")
    with pytest.raises(GitWriteError, match="has no commit yet"):
        opened(folder)


@pytest.mark.long
def test_a_lock_of_another_git_is_waited_for_and_then_named(root: Path) -> None:
    tree = opened(root)
    (root / "a.py").write_text("a = 2\n")
    lock = root / ".git" / "index.lock"
    lock.write_text("")
    with pytest.raises(GitWriteError, match=r"index\.lock exists"):
        commit_change(tree, ["a.py"], "Change a", "s1", WHO)
    assert lock.exists()


KILLED = """
import os, signal, sys
from pathlib import Path
from runtime.codebase.git.git_folder import find_git_folder
from runtime.codebase.git.git_locks import locked, publish

with locked(find_git_folder(Path(sys.argv[1])), "index", "HEAD") as locks:
    if sys.argv[2] == "published":
        publish(locks["index"], Path(sys.argv[1], ".git/index").read_bytes())
    os.kill(os.getpid(), signal.SIGKILL)
"""


def killed_with_locks(root: Path, when: str) -> None:
    """Let a process take the locks of a repository, and be killed."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(root), when], check=False)
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize("when", ["taken", "published"])
def test_locks_of_a_killed_process_of_ours_are_removed_when_they_are_wanted(root: Path, when: str) -> None:
    tree = opened(root)
    (root / "a.py").write_text("a = 2\n")
    killed_with_locks(root, when)
    locks = [root / ".git" / name for name in ("index.lock", "HEAD.lock")]
    assert all(lock.exists() for lock in locks)
    finish(root, tree, ["a.py"], commit_change(tree, ["a.py"], "Change a", "s1", WHO))
    assert git(root, "show", "main:a.py") == "a = 2"
    assert not list((root / ".git").glob("*.lock*"))


@pytest.mark.parametrize("content", ["", "{}", '{"made_by":"jeeves"}', "DIRC\0\0\0\2"])
def test_a_lock_without_our_mark_is_never_abandoned(tmp_path: Path, content: str) -> None:
    lock = tmp_path / "index.lock"
    lock.write_text(content)
    assert not remove_abandoned(lock)
    assert lock.read_text() == content


def test_a_lock_of_ours_is_abandoned_only_where_its_process_is_known_to_be_gone(tmp_path: Path) -> None:
    lock = tmp_path / "index.lock"
    take_marked(lock)
    assert not remove_abandoned(lock), "this process is alive"
    held = json.loads(lock.read_text())
    for others in ({"host": "another"}, {"namespace": "pid:[1]", "pid": 2**30}):
        lock.write_text(json.dumps(held | others))
        assert not remove_abandoned(lock), others
    for gone in ({"pid": 2**30}, {"began": "1"}, {"boot": "an earlier one"}):
        lock.write_text(json.dumps(held | gone))
        assert remove_abandoned(lock), gone
    take_marked(lock)
    with pytest.raises(FileExistsError):
        take_marked(lock)
    assert [path.name for path in tmp_path.iterdir()] == ["index.lock"]


@pytest.mark.long
def test_all_locks_that_are_in_the_way_are_named(root: Path) -> None:
    tree = opened(root)
    (root / "a.py").write_text("a = 2\n")
    commit = commit_change(tree, ["a.py"], "Change a", "s1", WHO)
    for name in ("index.lock", "HEAD.lock"):
        (root / ".git" / name).write_text("")
    with pytest.raises(GitWriteError, match=r"index\.lock, .*HEAD\.lock exist: another git is at work"):
        finish(root, tree, ["a.py"], commit)


def test_a_workspace_that_left_its_branch_is_not_committed_to(root: Path) -> None:
    tree = opened(root)
    git(root, "switch", "-q", "main")
    (root / "a.py").write_text("a = 2\n")
    with pytest.raises(GitWriteError, match="is not on branch llm_task_s1"):
        commit_change(tree, ["a.py"], "Change a", "s1", WHO)


def test_names_that_are_not_plain_are_committed_as_they_are(root: Path) -> None:
    tree = opened(root)
    names = ["with space.py", "ü.py", "-dash.py", ":(top)x.py", "line\nend.py", "*.py"]
    for name in names:
        (root / name).write_text("x = 1\n")
    assert sorted(file for file, _ in changed(tree)) == sorted(names)
    commit_change(tree, names, "Add names", "s1", WHO)
    assert changed(tree) == [(name, "added") for name in sorted(names)]
    assert git(root, "status", "--porcelain") == ""


def test_an_edit_of_the_users_folder_changes_its_digest(root: Path) -> None:
    def digest() -> str:
        with GitWriter(root) as writer:
            return digest_of(writer, is_ours)

    first = digest()
    assert digest() == first
    (root / "b.py").write_text("mine\n")
    second = digest()
    (root / "b.py").write_text("mine, again\n")
    assert len({first, second, digest()}) == 3


def test_a_repository_that_was_copied_with_its_index_differs_in_nothing(root: Path) -> None:
    copied = root.parent / "copied"
    shutil.copytree(root, copied)
    tree = opened(copied)
    assert (tree.is_linked, changed(tree)) == (False, [])


def test_an_index_that_claims_old_contents_for_changed_files_is_not_believed(root: Path) -> None:
    tree = opened(root)
    for mtime_ns in (0, 1, 10**9, 1_700_000_000 * 10**9):
        # The stat data of the edited file beside the hash of the committed one, as git itself would never write it.
        blob = git(root, "rev-parse", "HEAD:a.py")
        (root / "a.py").write_text("a = 2\n")
        os.utime(root / "a.py", ns=(mtime_ns, mtime_ns))
        git(root, "update-index", "a.py")
        index = root / ".git" / "index"
        edited = bytes.fromhex(git(root, "hash-object", "a.py"))
        data = index.read_bytes()[:-20].replace(edited, bytes.fromhex(blob))
        index.write_bytes(data + hashlib.sha1(data).digest())
        assert git(root, "status", "--porcelain") == "", "the forgery works against git itself"
        assert changed(tree) == [("a.py", "modified")]
    commit = commit_change(tree, ["a.py"], "Change a", "s1", WHO)
    assert git(root, "show", f"{commit}:a.py") == "a = 2"


def test_a_named_pipe_in_the_place_of_a_file_is_told_by_name(root: Path) -> None:
    tree = opened(root)
    (root / "sub/c.py").unlink()
    os.mkfifo(root / "sub/c.py")
    with pytest.raises(
        GitWriteError, match=r"^sub/c\.py in .* is a named pipe, which git cannot compare; take it away"
    ):
        changed(tree)
    (root / "sub/c.py").unlink()
    assert changed(tree) == [("sub/c.py", "deleted")]


def test_a_base_branch_with_another_history_in_its_place_is_told_as_that(root: Path) -> None:
    tree = opened(root)
    (root / "a.py").write_text("a = 2\n")
    commit = commit_change(tree, ["a.py"], "Change a", "s1", WHO)
    other = git(root, "commit-tree", "-m", "another root", f"{commit}^{{tree}}")
    git(root, "update-ref", "refs/heads/main", other)
    with pytest.raises(GitWriteError, match="have no commit in common: another history was put in the branch's place"):
        finish(root, tree, ["a.py"], commit)
    assert git(root, "rev-parse", "main") == other


def test_a_named_pipe_that_git_opens_by_itself_is_told_instead_of_waited_for(root: Path) -> None:
    tree = opened(root)
    os.mkfifo(root / "sub/.gitignore")
    with pytest.raises(
        GitWriteError, match=r"^sub/\.gitignore is a named pipe in .*, which git would wait for; take it"
    ):
        changed(tree)
