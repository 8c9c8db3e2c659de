"""However a repository is laid out, git tells of it in our folder what it tells its owner in the repository itself."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.codebase.git import commit_history
from runtime.codebase.git.git_process import NO_HISTORY, Git
from runtime.codebase.git.head import head_commit
from tests.attacks.repositories import Canary, commit, git, grow, told, write

pytestmark = pytest.mark.long


def same_as_its_owner_sees(root: Path) -> Path:
    """The root, when what we tell of it is what plain git tells."""
    ours, theirs = told(root), told(root, plain=True)
    assert ours == theirs
    assert ours["log"]
    assert ours["work_tree"].head
    return root


def packed(place: Path) -> Path:
    root = grow(place)
    git(root, "gc", "-q")
    git(root, "pack-refs", "--all")
    assert (root / ".git/packed-refs").exists()
    assert not (root / ".git/refs/heads/main").exists()
    return root


def with_graph(place: Path) -> Path:
    root = grow(place)
    git(root, "gc", "-q")
    git(root, "commit-graph", "write", "--reachable", "--changed-paths")
    git(root, "multi-pack-index", "write")
    return root


def sha256(place: Path) -> Path:
    place.mkdir()
    git(place, "init", "-q", "--object-format=sha256")
    return grow(place)


def reftable(place: Path) -> Path:
    place.mkdir()
    if "unknown option" in _failure(place, "init", "-q", "--ref-format=reftable"):
        pytest.skip("this git knows no reftable")
    return grow(place)


def linked_to_reftable(place: Path) -> Path:
    git(reftable(place), "worktree", "add", "-q", "-b", "side", "../linked")
    return dirty(place.parent / "linked")


def linked(place: Path) -> Path:
    git(grow(place), "worktree", "add", "-q", "-b", "side", "../linked")
    return dirty(place.parent / "linked")


def linked_below_its_repository(place: Path) -> Path:
    git(grow(place), "worktree", "add", "-q", "--detach", "inner")
    return dirty(place / "inner")


def linked_with_own_settings(place: Path) -> Path:
    root = linked(place)
    git(root, "config", "extensions.worktreeConfig", "true")
    git(root, "config", "--worktree", "core.autocrlf", "input")
    return root


def linked_to_bare(place: Path) -> Path:
    place.mkdir()
    git(grow(place.parent / "first"), "clone", "-q", "--bare", ".", str(place / ".bare"))
    (place / ".git").write_text("gitdir: ./.bare\n")
    git(place, "worktree", "add", "-q", "tree", "main")
    return dirty(place / "tree")


def submodule(place: Path) -> Path:
    grow(place.parent / "library")
    git(grow(place), "submodule", "--quiet", "add", "../library", "lib")
    return dirty(place / "lib")


def linked_to_submodule(place: Path) -> Path:
    git(submodule(place), "worktree", "add", "-q", "-b", "side", str(place.parent / "linked"))
    return dirty(place.parent / "linked")


def around_submodule(place: Path) -> Path:
    dirty(submodule(place))
    commit(place, "Add the library", day=5)
    write(place / "lib", {"more.txt": "x"})
    return place


def separate(place: Path) -> Path:
    place.mkdir()
    git(place, "init", "-q", f"--separate-git-dir={place.parent / 'elsewhere'}")
    git(place, "config", "core.worktree", str(place))
    return grow(place)


def shallow(place: Path) -> Path:
    git(place.parent, "clone", "-q", "--depth=2", f"file://{grow(place.parent / 'first')}", str(place))
    return dirty(place)


def borrowing_inside(place: Path) -> Path:
    root = grow(place)
    (root / ".git/lender").mkdir()
    shutil.move(root / ".git/objects", root / ".git/lender/objects")
    write(root, {".git/objects/info/alternates": "# ours\n../lender/objects\n"})
    return root


def split_index(place: Path) -> Path:
    root = grow(place)
    git(root, "update-index", "--split-index")
    write(root, {"extra.py": "x = 1\n"})
    git(root, "add", "extra.py")
    assert list((root / ".git").glob("sharedindex.*"))
    return root


def sparse(place: Path) -> Path:
    root = grow(place)
    write(root, {"far/away.py": "x = 1\n"})
    commit(root, "Far away", day=5)
    git(root, "sparse-checkout", "set", "--cone", "--sparse-index", "pkg")
    assert not (root / "far").exists()
    return dirty(root)


def replaced(place: Path) -> Path:
    root = grow(place)
    git(root, "replace", "--graft", "HEAD~1")
    return root


def grafted(place: Path) -> Path:
    root = grow(place)
    write(root, {".git/info/grafts": git(root, "rev-parse", "HEAD")})
    return root


def merging(place: Path) -> Path:
    root = grow(place)
    commit(root, "More", day=5)
    git(root, "checkout", "-q", "-b", "side", "HEAD~1")
    write(root, {"alpha.py": "def alpha_thing():\n    return 9\n"})
    commit(root, "Nine", who="Grace", day=6)
    git(root, "merge", "main", check=False)
    assert (root / ".git/MERGE_HEAD").exists()
    return root


def following(place: Path) -> Path:
    git(place.parent, "clone", "-q", str(grow(place.parent / "first")), str(place))
    write(place, {"more.py": "x = 1\n"})
    commit(place, "Ahead", day=5)
    git(place, "branch", "-q", "-m", 'a"b/é')
    return dirty(place)


def with_line_ends(place: Path) -> Path:
    root = grow(place)
    git(root, "config", "core.autocrlf", "true")
    (root / "pkg/beta.py").write_bytes((root / "pkg/beta.py").read_bytes().replace(b"\n", b"\r\n"))
    return root


def without_modes(place: Path) -> Path:
    root = grow(place)
    git(root, "config", "core.fileMode", "false")
    (root / "pkg/beta.py").chmod(0o755)
    return root


def with_excludes_and_attributes(place: Path) -> Path:
    root = grow(place)
    write(root, {".git/info/exclude": "*.txt\n", ".git/info/attributes": "*.py -text diff=python\n"})
    return root


def with_a_filter_that_is_not_there(place: Path) -> Path:
    root = grow(place)
    write(root, {".gitattributes": "* filter=lfs diff=lfs merge=lfs -text\n"})
    return root


def dirty(root: Path) -> Path:
    """A change that is not committed."""
    write(root, {"alpha.py": "def alpha_thing():\n    return 2\n\n\nDELTA = 1\n"})
    return root


def _failure(root: Path, *arguments: str) -> str:
    try:
        git(root, *arguments)
    except AssertionError as error:
        return str(error)
    return ""


LAYOUTS = (
    *(packed, with_graph, sha256, reftable, linked_to_reftable, linked, linked_below_its_repository, linked_to_bare),
    *(linked_with_own_settings, submodule, linked_to_submodule, around_submodule, separate, shallow, borrowing_inside),
    *(split_index, sparse, replaced, grafted, merging, following, with_line_ends, without_modes),
    *(with_excludes_and_attributes, with_a_filter_that_is_not_there),
)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
def test_a_layout_of_git_is_read_as_its_owner_sees_it(tmp_path: Path, layout: Callable[[Path], Path]) -> None:
    root = layout(tmp_path / "repo").resolve()
    same_as_its_owner_sees(root)
    if "reftable" not in layout.__name__:
        assert head_commit(root) == git(root, "rev-parse", "HEAD").strip()


def test_how_far_a_branch_is_ahead_and_behind_is_told(tmp_path: Path) -> None:
    root = following(tmp_path / "repo")
    state = commit_history.work_tree(Git(root))
    assert (state.branch, state.ahead, state.behind) == ('a"b/é', 1, 0)


def test_a_folder_below_the_top_is_read_from_there(tmp_path: Path) -> None:
    root = grow(tmp_path / "repo")
    write(root, {"pkg/beta.py": "x = 1\n"})
    below = Git(root / "pkg")
    assert [item.subject for item in commit_history.log(below, "beta.py", limit=5)][-1] == "Open"
    assert commit_history.work_tree(below).changes == (("modified", "beta.py"),)


def test_a_revision_may_be_named_as_git_names_it(tmp_path: Path) -> None:
    root = following(tmp_path / "repo")
    git(root, "reset", "-q", "--soft", "HEAD~1")
    for name in ("HEAD@{1}", "ORIG_HEAD", "@{upstream}", "origin/main", "HEAD~1"):
        assert Git(root).run("rev-parse", "--verify", name) == git(root, "rev-parse", "--verify", name)


def test_a_partial_clone_is_not_completed(tmp_path: Path) -> None:
    canary = Canary(tmp_path / "canary")
    first = grow(tmp_path / "first")
    git(first, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{first}", "repo")
    root = tmp_path / "repo"
    git(root, "config", "remote.origin.uploadpack", str(canary.program))
    before = sorted((root / ".git/objects").rglob("*"))
    assert [item.subject for item in commit_history.log(Git(root), None, limit=1)] == ["Another gamma"]
    Git(root).run("status")
    with pytest.raises(Exception, match="git log failed"):
        commit_history.first_with(Git(root), "alpha_thing")
    assert sorted((root / ".git/objects").rglob("*")) == before
    assert not canary.sang()
    git(root, "log", "-Salpha", check=False)
    assert canary.sang()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_repository_of_another_user_is_read_since_nothing_of_it_can_run(tmp_path: Path) -> None:
    root = grow(tmp_path / "repo")
    wanted = told(root)
    for path in (root, *root.rglob("*")):
        os.chown(path, 65534, 65534, follow_symlinks=False)
    assert "dubious ownership" in _failure(root, "log")
    assert told(root) == wanted


def test_a_repository_that_is_read_only_is_read(tmp_path: Path) -> None:
    root = grow(tmp_path / "repo")
    wanted = told(root)
    for path in (root / ".git", *(root / ".git").rglob("*")):
        path.chmod(stat.S_IRUSR | stat.S_IXUSR if path.is_dir() else stat.S_IRUSR)
    assert told(root) == wanted


def test_a_file_changed_in_the_second_of_the_index_is_seen_as_changed(tmp_path: Path) -> None:
    root = grow(tmp_path / "repo")
    commit(root, "All", day=5)
    index = (root / ".git/index").stat()
    changed = (root / "alpha.py").read_text().replace("2", "7")
    (root / "alpha.py").write_text(changed)
    os.utime(root / "alpha.py", ns=(index.st_mtime_ns, index.st_mtime_ns))
    assert commit_history.work_tree(Git(root)).changes == (("modified", "alpha.py"),)


@pytest.mark.parametrize("kind", ["nothing", "empty", "unborn"])
def test_without_a_commit_there_is_no_history(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "repo"
    root.mkdir()
    if kind == "empty":
        (root / ".git").mkdir()
    if kind == "unborn":
        git(root, "init", "-q")
    assert Git(root).why_unusable() == NO_HISTORY
    assert head_commit(root) is None
