"""Named pipes and devices where git expects plain files: told in a moment instead of waiting for git's ten seconds."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from actors.capabilities.code_analysis.tools.toolset import TOOLS
from runtime.codebase.codebase import Codebase
from runtime.codebase.git.blocking_files import blocking_file
from runtime.codebase.git.git_process import TIMEOUT_S, Git
from runtime.codebase.git.git_settings import REFUSED
from runtime.codebase.index.writer import refresh
from runtime.errors import RepositoryError
from tests.attacks.repositories import HISTORY, TOOL_CALLS, git, grow

LATE_S = TIMEOUT_S / 2  # on a desk it takes 0.3 s


def pipe(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def link_to_pipe(path: Path) -> None:
    pipe(path.with_name("pipe"))
    path.unlink(missing_ok=True)
    path.symlink_to("pipe")


def pipe_beside_a_submodule(path: Path) -> None:
    inner = grow(path.with_name("sub"))
    head = git(inner, "rev-parse", "HEAD").strip()
    git(path.parent, "update-index", "--add", "--cacheinfo", f"160000,{head},sub")
    pipe(path)


def repository_below(path: Path) -> None:
    """An untracked repository whose file is a pipe."""
    grow(path.parent.parent)
    pipe(path)


PLACES: list[tuple[str, Callable[[Path], None]]] = [
    *((name, pipe) for name in (".gitattributes", ".mailmap")),
    *((name, pipe) for name in ("new/.gitignore", "pkg/.gitignore", "pkg/.gitattributes")),
    *((".gitmodules", make) for make in (link_to_pipe, pipe_beside_a_submodule)),
    *((f"below/.git/{name}", repository_below) for name in ("HEAD", "commondir")),
]


@pytest.mark.long
@pytest.mark.parametrize(("name", "make"), PLACES)
def test_no_question_waits_for_a_file_that_blocks_git(tmp_path: Path, name: str, make: Callable[[Path], None]) -> None:
    root = grow(tmp_path / "repo")
    make(root / name)
    blocked = []
    for question, ask in HISTORY.items():
        began_s = time.monotonic()
        try:
            ask(Git(root))
        except RepositoryError as error:
            blocked.append(question)
            assert error.message.startswith(f"{REFUSED}: {name} is a named pipe"), (question, error.message)
        assert time.monotonic() - began_s < LATE_S, question
    # Whether the list of submodules is read depends on the version of git.
    assert blocked or name == ".gitmodules", "git waits for none of these: nothing is tested"


def test_the_second_command_of_a_question_does_not_wait_again(tmp_path: Path) -> None:
    root = grow(tmp_path / "repo")
    pipe(root / ".gitignore")
    calls, counting = tmp_path / "calls", tmp_path / "counting"
    calls.touch()
    counting.write_text(f'#!/bin/sh\necho "$*" >> "{calls}"\nPATH="{os.environ["PATH"]}" exec git "$@"\n')
    counting.chmod(0o755)
    asked, made = Git(root, program=str(counting)), []
    for _ in range(3):
        with pytest.raises(RepositoryError, match=r"\.gitignore is a named pipe"):
            HISTORY["work_tree"](asked)
        made.append(len(calls.read_text().splitlines()))
    assert made[0] > 0
    assert made == made[:1] * 3, "git was started again"


@pytest.mark.long
def test_tools_tell_why_history_is_missing(tmp_path: Path) -> None:
    root = grow(tmp_path / "repo")
    pipe(root / ".mailmap")
    refresh(root, tmp_path / "index.sqlite")
    codebase = Codebase.open(root, tmp_path / "index.sqlite")
    told: list[Any] = []
    for name, arguments in TOOL_CALLS:
        tool = TOOLS.get(name)
        result = tool.run(codebase, tool.read_arguments(arguments))
        told.append((name, result.status, str(result.error) + str(result.data)))
    assert any(".mailmap is a named pipe" in words for _, _, words in told), told


def test_a_slow_command_in_a_harmless_work_tree_goes_on(tmp_path: Path) -> None:
    root = grow(tmp_path / "repo")
    os.mkfifo(root / "pipe")  # git opens no file of this name
    slow = tmp_path / "slow"
    slow.write_text(f'#!/bin/sh\nsleep 0.6\nPATH="{os.environ["PATH"]}" exec git "$@"\n')
    slow.chmod(0o755)
    assert HISTORY["log"](Git(root, program=str(slow))) == HISTORY["log"](Git(root))
    assert git(root, "status", "--short")


def test_the_search_for_a_blocking_file_ends_with_the_command(tmp_path: Path) -> None:
    pipe(tmp_path / "a" / ".gitignore")
    assert blocking_file(tmp_path, lambda: False) == "a/.gitignore is a named pipe"
    assert blocking_file(tmp_path, lambda: True) is None
    (tmp_path / "a" / ".gitignore").unlink()
    (tmp_path / "b").symlink_to(tmp_path)
    (tmp_path / ".mailmap").symlink_to("/dev/zero")
    assert blocking_file(tmp_path, lambda: False) == ".mailmap is a device"
