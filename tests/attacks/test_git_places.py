"""A repository cannot lead git to the history of another one: data outside of it is refused unless made for it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.codebase.git import commit_history
from runtime.codebase.git.git_process import Git
from runtime.codebase.git.git_settings import REFUSED
from runtime.codebase.git.git_view import MAX_COPIED_BYTES, MAX_LINKED_BYTES
from runtime.codebase.git.head import head_commit
from runtime.errors import RepositoryError
from tests.attacks.repositories import TOOL_CALLS, commit, git, grow, write

SECRET = "The secret merger"


class Lender:
    """Somebody else's repository, and its parts."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "lender"
        self.root.mkdir()
        git(self.root, "init", "-q", "--template=")
        write(self.root, {"merger.txt": SECRET})
        self.loose = commit(self.root, SECRET)
        git(self.root, "gc", "-q")
        write(self.root, {"merger.txt": f"{SECRET} again"})
        self.head = commit(self.root, f"{SECRET} again")
        self.data = self.root / ".git"


def at(root: Path, lender: Lender, head: str | None = None) -> Path:
    """A repository of nothing whose HEAD names a commit of the lender."""
    root.mkdir()
    git(root, "init", "-q", "--template=")
    (root / ".git/HEAD").write_text(f"{head or lender.head}\n")
    (root / ".git/index").write_bytes((lender.data / "index").read_bytes())
    return root / ".git"


def swap(path: Path, target: Path) -> None:
    """A link in the place of what was there."""
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def file_named(root: Path, lender: Lender) -> None:
    write(root, {".git": f"gitdir: {lender.data}\n"})


def file_named_by_a_way_round(root: Path, lender: Lender) -> None:
    write(root, {".git": "gitdir: sub/../../lender/.git\n", "sub/x": ""})


def file_with_a_linked_name(root: Path, lender: Lender) -> None:
    write(root, {".git": "gitdir: inside\n"})
    swap(root / "inside", lender.data)


def link(root: Path, lender: Lender) -> None:
    root.mkdir()
    swap(root / ".git", lender.data)


def common_folder(root: Path, lender: Lender) -> None:
    data = at(root, lender)
    (data / "commondir").write_text(f"{lender.data}\n")


def work_tree_of_it(root: Path, lender: Lender) -> None:
    made = "fake/worktrees/x/"
    write(root, {".git": f"gitdir: {made}\n", f"{made}HEAD": lender.head, f"{made}gitdir": f"{root}/.git\n"})
    write(root, {f"{made}commondir": f"{lender.data}\n"})


def worktrees_linked(root: Path, lender: Lender) -> None:
    write(root, {".git": "gitdir: fake/worktrees/x\n", "fake/worktrees/x/HEAD": lender.head})
    write(root, {"fake/worktrees/x/commondir": "../..\n"})
    for name in ("objects", "refs", "config"):
        swap(root / "fake" / name, lender.data / name)


def alternates(root: Path, lender: Lender) -> None:
    write(at(root, lender), {"objects/info/alternates": f"{lender.data}/objects\n"})


def alternates_relative(root: Path, lender: Lender) -> None:
    write(at(root, lender), {"objects/info/alternates": "../../../lender/.git/objects\n"})


def alternates_quoted(root: Path, lender: Lender) -> None:
    write(at(root, lender), {"objects/info/alternates": f'"{lender.data}/objects"\n'})


def alternates_of_alternates(root: Path, lender: Lender) -> None:
    data = at(root, lender)
    write(data, {"objects/info/alternates": f"{data}/more\n", "more/info/alternates": f"{lender.data}/objects\n"})


def alternates_linked(root: Path, lender: Lender) -> None:
    write(at(root, lender), {"objects/info/alternates": f"{root}/.git/more\n"})
    swap(root / ".git/more", lender.data / "objects")


def objects_linked(root: Path, lender: Lender) -> None:
    swap(at(root, lender) / "objects", lender.data / "objects")


def packs_linked(root: Path, lender: Lender) -> None:
    swap(at(root, lender, lender.loose) / "objects/pack", lender.data / "objects/pack")


def pack_linked(root: Path, lender: Lender) -> None:
    data = at(root, lender, lender.loose)
    for path in (lender.data / "objects/pack").iterdir():
        swap(data / "objects/pack" / path.name, path)


def loose_objects_linked(root: Path, lender: Lender) -> None:
    data = at(root, lender)
    for path in (lender.data / "objects").glob("??"):
        swap(data / "objects" / path.name, path)
    pack_linked_into(data, lender)


def each_object_linked(root: Path, lender: Lender) -> None:
    data = at(root, lender)
    for path in (lender.data / "objects").glob("??/*"):
        swap(data / "objects" / path.parent.name / path.name, path)


def pack_linked_into(data: Path, lender: Lender) -> None:
    for path in (lender.data / "objects/pack").iterdir():
        swap(data / "objects/pack" / path.name, path)


def everything_linked(root: Path, lender: Lender) -> None:
    data = root / ".git"
    data.mkdir(parents=True)
    for path in lender.data.iterdir():
        swap(data / path.name, path)
    swap(data / "HEAD", Path("refs/heads/main"))


LEADING_OUT = (
    *(file_named, file_named_by_a_way_round, file_with_a_linked_name, link, common_folder, work_tree_of_it),
    *(worktrees_linked, alternates, alternates_relative, alternates_quoted, alternates_of_alternates),
    *(alternates_linked, objects_linked, packs_linked, pack_linked, loose_objects_linked, each_object_linked),
    *(everything_linked,),
)


@pytest.mark.parametrize("way", LEADING_OUT, ids=lambda way: way.__name__)
def test_the_history_of_another_repository_is_not_told(tmp_path: Path, way: Callable[[Path, Lender], None]) -> None:
    lender, root = Lender(tmp_path), tmp_path / "repo"
    way(root, lender)
    reachable = git(root, "log", "--no-walk", "--format=%s", check=False)
    assert SECRET in reachable, "plain git is not led out, so that nothing was tried here"
    with pytest.raises(RepositoryError, match=REFUSED):
        commit_history.log(Git(root), None, limit=5)
    assert str(Git(root).why_unusable()).startswith(REFUSED)


@pytest.mark.parametrize("name", ["refs", "refs/heads/main", "packed-refs", "HEAD", "index", "logs", "info/exclude"])
def test_a_part_that_is_a_link_out_of_the_repository_is_refused(tmp_path: Path, name: str) -> None:
    lender, root = Lender(tmp_path), grow(tmp_path / "repo")
    git(lender.root, "pack-refs", "--all")
    target = lender.data / name
    if not target.exists():
        write(lender.data, {name: lender.head})
    swap(root / ".git" / name, target)
    if name == "refs":
        swap(root / ".git/packed-refs", lender.data / "packed-refs")
    with pytest.raises(RepositoryError, match=REFUSED):
        commit_history.log(Git(root), None, limit=5)
    assert head_commit(root) != lender.head


@pytest.mark.parametrize("way", [file_named, link, everything_linked, common_folder], ids=lambda way: way.__name__)
def test_the_commit_of_another_repository_is_not_taken_for_ours(
    tmp_path: Path, way: Callable[[Path, Lender], None]
) -> None:
    lender, root = Lender(tmp_path), tmp_path / "repo"
    way(root, lender)
    assert head_commit(root) is None


@pytest.mark.parametrize("value", ["/", "../..", "FOLDER/lender"])
def test_a_work_tree_elsewhere_is_not_used(tmp_path: Path, value: str) -> None:
    Lender(tmp_path)
    root = grow(tmp_path / "repo")
    git(root, "config", "core.worktree", value.replace("FOLDER", str(tmp_path)))
    with pytest.raises(RepositoryError, match="for the work tree"):
        commit_history.work_tree(Git(root))


def test_data_elsewhere_that_names_another_work_tree_is_refused(tmp_path: Path) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    grow(tmp_path / "repo")
    git(tmp_path / "repo", "worktree", "add", "-q", "--detach", str(mine))
    other.mkdir()
    (other / ".git").write_bytes((mine / ".git").read_bytes())
    assert Git(mine).why_unusable() is None
    assert "git worktree repair" in str(Git(other).why_unusable())


def test_data_that_was_put_elsewhere_is_read_once_it_names_its_work_tree(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q", "--separate-git-dir=../data")
    grow(root)
    assert f"git config core.worktree {root}" in str(Git(root).why_unusable())
    git(root, "config", "core.worktree", str(root))
    assert Git(root).why_unusable() is None


@pytest.mark.long
def test_a_pipe_among_the_data_is_refused_instead_of_being_waited_for(tmp_path: Path) -> None:
    root = grow(tmp_path / "repo")
    os.mkfifo(root / ".git/objects/pack/pack-1.idx")
    assert "no plain file" in str(Git(root).why_unusable())
    (root / ".git/objects/pack/pack-1.idx").unlink()
    (root / ".git/config").unlink()
    os.mkfifo(root / ".git/config")
    assert Git(root).why_unusable() is None


def test_a_configuration_without_end_is_refused(tmp_path: Path) -> None:
    root = grow(tmp_path / "repo")
    (root / ".git/config").write_bytes(b"#" * 1_000_000)
    assert Git(root).why_unusable() is None
    (root / ".git/config").write_bytes(b"#" * 1_000_001)
    assert "1000000 bytes" in str(Git(root).why_unusable())


def test_an_index_without_end_is_refused_and_not_copied(tmp_path: Path) -> None:
    root = grow(tmp_path / "root")
    with (root / ".git" / "index").open("r+b") as index:
        index.truncate(MAX_COPIED_BYTES + 1)
    with pytest.raises(RepositoryError, match="at most 1073741824 are read"):
        Git(root).run("log")


@pytest.mark.long
@pytest.mark.parametrize("name", ["packed-refs", "refs/heads/main", "logs/HEAD", "info/exclude"])
def test_a_file_of_git_without_end_is_refused_with_its_size(tmp_path: Path, name: str) -> None:
    root = grow(tmp_path / "root")
    path = root / ".git" / name
    path.parent.mkdir(exist_ok=True)
    path.touch()
    for size, is_refused in ((MAX_LINKED_BYTES, False), (MAX_LINKED_BYTES + 1, True), (5 * 10**9, True)):
        os.truncate(path, size)
        told = f"{REFUSED}: {path} has {size} bytes, at most {MAX_LINKED_BYTES} are read"
        assert (Git(root).why_unusable() == told) is is_refused


@pytest.mark.parametrize(
    ("key", "value"),
    [("extensions.refStorage", "elsewhere"), ("extensions.objectFormat", "md5"), ("extensions.unheardOf", "true")],
)
def test_a_way_to_store_that_is_not_known_is_refused_with_its_name(tmp_path: Path, key: str, value: str) -> None:
    root = grow(tmp_path / "repo")
    section, _, name = key.partition(".")
    with (root / ".git/config").open("a") as file:
        file.write(f"[core]\n\trepositoryFormatVersion = 1\n[{section}]\n\t{name} = {value}\n")
    assert name.lower() in str(Git(root).why_unusable())


def test_tools_say_why_git_is_not_used(tmp_path: Path) -> None:
    from actors.capabilities.code_analysis.tools.toolset import TOOLS
    from runtime.codebase.codebase import Codebase
    from runtime.codebase.index.writer import refresh

    root = grow(tmp_path / "repo")
    shutil.rmtree(root / ".git")
    link_target = Lender(tmp_path)
    swap(root / ".git", link_target.data)
    refresh(root, tmp_path / "index.sqlite")
    codebase = Codebase.open(root, tmp_path / "index.sqlite")
    for name, arguments in TOOL_CALLS:
        tool = TOOLS.get(name)
        result = tool.run(codebase, tool.read_arguments(arguments))
        assert SECRET not in str(result)
        if name != "find_related":
            assert (result.status, str(result.error).startswith(REFUSED)) == ("unsupported", True), name
    codebase.close()
