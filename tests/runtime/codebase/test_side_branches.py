"""Work trees beside a repository: one for each fix, their commits on one branch, the user's folder untouched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtime.codebase.git.commits import commit_change, lay_aside, task_branches
from runtime.codebase.git.linked_trees import COLLECTED_PREFIX, FIX_PREFIX
from runtime.codebase.git.side_branches import (
    close_side_tree,
    drop_commit,
    idle_trees,
    open_side_tree,
    pick_commit,
    restore_tree,
)
from runtime.codebase.git.tree_places import FIX_TREES
from runtime.codebase.git.work_trees import WorkTree
from runtime.errors import GitWriteError
from tests.runtime.codebase.test_git_writing import WHO, git, trap

LINES = "".join(f"line {number}\n" for number in range(40))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = (tmp_path / "project").resolve()
    (made / "sub").mkdir(parents=True)
    git(made, "init", "-q", "-b", "main")
    git(made, "config", "user.name", WHO.name)
    git(made, "config", "user.email", WHO.email)
    (made / "a.py").write_text(LINES)
    (made / "sub" / "c.py").write_text("c = 1\n")
    (made / ".gitignore").write_text("cache/\n")
    git(made, "add", "-A")
    git(made, "commit", "-qm", "first")
    (made / "a.py").write_text("dirty\n")
    (made / "new.py").write_text("new\n")
    return made


def seen(root: Path) -> tuple[str, ...]:
    asked = (("status", "--porcelain"), ("rev-parse", "HEAD"), ("symbolic-ref", "HEAD"), ("ls-files", "-s"))
    return (*(git(root, *words) for words in asked), (root / "a.py").read_text())


def tree_of(root: Path, name: str, prefix: str = FIX_PREFIX) -> WorkTree:
    return open_side_tree(root, f"{prefix}{name}", root.parent / "trees" / name, git(root, "rev-parse", "HEAD"))


def collected(root: Path) -> WorkTree:
    return tree_of(root, "all", COLLECTED_PREFIX)


def fixed(root: Path, name: str, line: int, said: str | None = None) -> str:
    """The commit of a fix of one line, made in a work tree of its own."""
    tree = tree_of(root, name)
    text = LINES.replace(f"line {line}\n", f"{said or name}\n")
    (Path(tree.folder) / "a.py").write_text(text)
    return commit_change(tree, ["a.py"], f"Fix line {line}", name, WHO, trailer="Jeeves-Violation")


def test_several_fixes_become_one_commit_each_on_one_branch_and_the_users_folder_stays(root: Path) -> None:
    before = seen(root)
    commits = [fixed(root, f"fix{number}", number * 10 + 2) for number in range(3)]
    branch = collected(root)
    picked = [pick_commit(branch, commit, WHO) for commit in commits]
    assert picked[0] == commits[0]
    assert seen(root) == before
    assert git(root, "log", "--format=%s|%an", f"HEAD..{branch.branch}").splitlines() == [
        f"Fix line {number}|{WHO.name}" for number in (22, 12, 2)
    ]
    assert "Jeeves-Violation: fix2" in git(root, "log", "-1", "--format=%B", branch.branch)
    text = (Path(branch.folder) / "a.py").read_text()
    assert [line for line in text.splitlines() if line.startswith("fix")] == ["fix0", "fix1", "fix2"]
    assert git(Path(branch.folder), "status", "--porcelain") == ""


def test_a_conflict_names_the_file_and_leaves_the_branch_as_it_was(root: Path) -> None:
    first, second = fixed(root, "one", 5), fixed(root, "two", 5)
    branch = collected(root)
    pick_commit(branch, first, WHO)
    with pytest.raises(GitWriteError, match=r"conflicts in a\.py") as refused:
        pick_commit(branch, second, WHO)
    assert refused.value.values["conflicts"] == ["a.py"]
    assert git(root, "rev-parse", branch.branch) == first
    assert git(Path(branch.folder), "status", "--porcelain") == ""


def test_a_commit_that_was_picked_before_a_kill_is_not_picked_twice(root: Path) -> None:
    first, second = fixed(root, "one", 5), fixed(root, "two", 15)
    branch = collected(root)
    done = [pick_commit(branch, commit, WHO) for commit in (first, second)]
    assert pick_commit(branch, second, WHO) == done[1]
    assert pick_commit(branch, first, WHO) == done[1]
    assert git(root, "rev-list", "--count", f"HEAD..{branch.branch}") == "2"


def test_files_are_brought_up_to_the_branch_after_a_kill_in_between(root: Path) -> None:
    first, second = fixed(root, "one", 5), fixed(root, "two", 15)
    branch = collected(root)
    pick_commit(branch, first, WHO)
    git(root, "update-ref", f"refs/heads/{branch.branch}", git(root, "rev-parse", "HEAD"))
    pick_commit(branch, second, WHO)
    assert (Path(branch.folder) / "a.py").read_text() == LINES.replace("line 15\n", "two\n")


def test_the_last_commit_alone_is_taken_back_with_its_files(root: Path) -> None:
    first, second = fixed(root, "one", 5), fixed(root, "two", 15)
    branch = collected(root)
    below, last = (pick_commit(branch, commit, WHO) for commit in (first, second))
    with pytest.raises(GitWriteError, match="not the last commit"):
        drop_commit(branch, below)
    assert drop_commit(branch, last) == below
    assert (Path(branch.folder) / "a.py").read_text() == LINES.replace("line 5\n", "one\n")
    drop_commit(branch, below)
    with pytest.raises(GitWriteError, match="was not taken back"):
        drop_commit(branch, branch.base_commit)


def test_a_work_tree_is_restored_but_for_the_files_that_are_kept(root: Path) -> None:
    tree = tree_of(root, "one")
    folder = Path(tree.folder)
    (folder / "a.py").write_text("edited\n")
    (folder / "sub" / "c.py").unlink()
    (folder / "made" / "deep").mkdir(parents=True)
    (folder / "made" / "deep" / "x").write_text("x")
    (folder / "cache").mkdir()
    (folder / "cache" / "y").write_text("y")
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "kept").write_text("mine")
    (folder / "link").symlink_to(outside)
    assert restore_tree(tree, ["a.py"]) == ("link", "made/deep/x", "sub/c.py")
    assert ((folder / "a.py").read_text(), (folder / "sub" / "c.py").read_text()) == ("edited\n", "c = 1\n")
    assert (folder / "cache" / "y").exists()
    assert (outside / "kept").exists()
    assert restore_tree(tree) == ("a.py",)
    assert git(folder, "status", "--porcelain") == ""
    assert restore_tree(tree) == ()


def test_a_folder_that_became_a_link_is_made_a_folder_again_and_nothing_is_written_through_it(root: Path) -> None:
    tree = tree_of(root, "one")
    folder = Path(tree.folder)
    outside = root.parent / "outside"
    outside.mkdir()
    (folder / "sub" / "c.py").unlink()
    (folder / "sub").rmdir()
    (folder / "sub").symlink_to(outside)
    restore_tree(tree)
    assert list(outside.iterdir()) == []
    assert (folder / "sub" / "c.py").read_text() == "c = 1\n"


def test_a_work_tree_is_opened_again_as_it_is_and_made_anew_where_it_is_gone(root: Path) -> None:
    tree = tree_of(root, "one")
    (Path(tree.folder) / "a.py").write_text("edited\n")
    assert tree_of(root, "one") == tree
    assert (Path(tree.folder) / "a.py").read_text() == "edited\n"
    for path in sorted(Path(tree.folder).rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    assert tree_of(root, "one") == tree
    assert (Path(tree.folder) / "a.py").read_text() == LINES


def test_a_work_tree_that_was_cut_off_before_its_files_gets_them(root: Path) -> None:
    tree = tree_of(root, "one")
    index = root / ".git" / "worktrees" / tree.branch / "index"
    index.unlink()
    (Path(tree.folder) / "a.py").unlink()
    tree_of(root, "one")
    assert (Path(tree.folder) / "a.py").read_text() == LINES
    assert index.exists()


@pytest.mark.parametrize("name", ["", "a/b", "..", "-x", "x" * 82, "a b"])
def test_a_name_that_leads_elsewhere_is_refused(root: Path, name: str) -> None:
    with pytest.raises(GitWriteError, match="cannot be a work tree"):
        open_side_tree(root, f"{FIX_PREFIX}{name}", root.parent / "trees" / name, git(root, "rev-parse", "HEAD"))


def test_a_branch_of_that_name_from_elsewhere_and_a_commit_that_is_none_are_refused(root: Path) -> None:
    head = git(root, "rev-parse", "HEAD")
    other = git(root, "commit-tree", "HEAD^{tree}", "-m", "other")
    git(root, "branch", f"{FIX_PREFIX}one", other)
    with pytest.raises(GitWriteError, match="exists already without the commit"):
        open_side_tree(root, f"{FIX_PREFIX}one", root.parent / "trees" / "one", head)
    with pytest.raises(GitWriteError, match="is no commit"):
        open_side_tree(root, f"{FIX_PREFIX}two", root.parent / "trees" / "two", "0" * 40)


def test_closing_removes_the_folder_and_the_branch_or_keeps_that(root: Path) -> None:
    one, branch = tree_of(root, "one"), collected(root)
    close_side_tree(root, one)
    close_side_tree(root, one)
    close_side_tree(root, branch, keeps_branch=True)
    assert not Path(one.folder).exists()
    assert not Path(branch.folder).exists()
    assert git(root, "branch", "--format=%(refname:short)").splitlines() == [branch.branch, "main"]
    assert git(root, "worktree", "list").count("\n") == 0


def test_what_a_killed_fix_left_is_listed_and_laid_aside_with_what_was_not_committed(root: Path) -> None:
    tree = tree_of(root, "one")
    collected(root)
    (Path(tree.folder) / "a.py").write_text("half\n")
    assert list(task_branches(root, FIX_PREFIX)) == [tree.branch]
    aside = lay_aside(root, tree.branch, WHO, root.parent / "trees", lambda _file: False, 0)
    assert not Path(tree.folder).exists()
    assert task_branches(root, FIX_PREFIX) == {}
    git(root, *aside.restoring.split()[1:])
    assert git(root, "show", f"{tree.branch}:a.py") == "half"


def test_no_program_of_the_repository_runs(root: Path) -> None:
    mark = root.parent / "ran"
    for name in ("post-checkout", "reference-transaction", "pre-commit", "post-commit", "post-index-change"):
        trap(root / ".git" / "hooks" / name, mark)
    trap(root.parent / "trap", mark)
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "attributes").write_text("*.py filter=x merge=x diff=x\n")
    for key in ("core.fsmonitor", "filter.x.clean", "filter.x.smudge", "filter.x.process", "merge.x.driver"):
        git(root, "config", key, str(root.parent / "trap"))
    tree = tree_of(root, "one")
    (Path(tree.folder) / "a.py").write_text("edited\n")
    restore_tree(tree)
    with pytest.raises(GitWriteError, match="filter program"):
        fixed(root, "one", 5)
    (root / ".git" / "info" / "attributes").write_text("*.py merge=x diff=x\n")
    branch = collected(root)
    for commit in (fixed(root, "two", 5), fixed(root, "three", 20)):
        last = pick_commit(branch, commit, WHO)
    drop_commit(branch, last)
    assert not mark.exists()


def test_files_that_are_not_plain_text_are_picked_byte_by_byte(root: Path) -> None:
    first = tree_of(root, "one")
    (Path(first.folder) / "sub" / "c.py").write_bytes(b"\xff\r\n\0")
    os.chmod(Path(first.folder) / "sub" / "c.py", 0o755)  # noqa: PTH101 - the mode is part of the commit
    commit = commit_change(first, ["sub/c.py"], "Grüße", "one", WHO)
    branch = collected(root)
    pick_commit(branch, fixed(root, "two", 5), WHO)
    pick_commit(branch, commit, WHO)
    copied = Path(branch.folder) / "sub" / "c.py"
    assert copied.read_bytes() == b"\xff\r\n\0"
    assert os.access(copied, os.X_OK)
    assert git(root, "log", "-1", "--format=%s", branch.branch) == "Grüße"


def test_only_trees_that_were_not_touched_since_a_time_are_idle(root: Path) -> None:
    tree = tree_of(root, "one")
    git(root, "branch", f"{FIX_PREFIX}bare")
    admin = root / ".git" / "worktrees" / tree.branch
    newest_s = max((admin / name).stat().st_mtime for name in ("HEAD", "index", "gitdir"))
    assert idle_trees(root, FIX_PREFIX, newest_s) == [f"{FIX_PREFIX}bare"]
    assert idle_trees(root, FIX_PREFIX, newest_s + 1) == [f"{FIX_PREFIX}bare", tree.branch]


def test_what_lies_behind_a_link_in_the_place_of_a_tree_is_not_removed(root: Path, tmp_path: Path) -> None:
    tree = tree_of(root, "1")
    folder, other = Path(tree.folder), (tmp_path / "other").resolve()
    folder.parent.rename(other)
    folder.parent.symlink_to(other)
    with pytest.raises(GitWriteError, match=f"{folder.parent} is a link to {other}"):
        tree_of(root, "1")
    close_side_tree(root, tree)
    assert (other / "1" / "a.py").read_text() == LINES


def test_no_tree_of_a_fix_is_opened_below_a_link_in_the_state_folder(root: Path, tmp_path: Path) -> None:
    other, fixes = (tmp_path / "other").resolve(), tmp_path.resolve() / "state" / FIX_TREES
    other.mkdir()
    fixes.parent.parent.mkdir()
    fixes.parent.symlink_to(other)
    with pytest.raises(GitWriteError, match=f"{fixes.parent} is a link to {other}"):
        open_side_tree(root, f"{FIX_PREFIX}1", fixes / "1", git(root, "rev-parse", "HEAD"))
    assert list(other.iterdir()) == []
    assert task_branches(root, FIX_PREFIX) == {}


def test_a_repository_in_the_place_of_a_tree_is_not_removed(root: Path) -> None:
    tree = tree_of(root, "1")
    folder = Path(tree.folder)
    (folder / ".git").unlink()
    git(folder, "init", "-q")
    close_side_tree(root, tree)
    assert (folder / ".git").is_dir()
