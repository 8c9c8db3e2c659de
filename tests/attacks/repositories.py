"""Repositories made to attack whoever reads them, and everything that we ask git about one."""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from actors.capabilities.code_analysis.tools.toolset import TOOLS
from runtime.codebase.codebase import Codebase
from runtime.codebase.git import commit_history
from runtime.codebase.git.git_process import Git
from runtime.codebase.git.known_history import HistoryMemory
from runtime.codebase.git.precedents import lines_added, read_commits
from runtime.codebase.git.tracked_files import tracked_files
from runtime.codebase.index.writer import refresh
from runtime.tools.result import ToolResult

ALPHA = "def alpha_thing():\n    return 1\n"
BETA = "def beta_thing():\n    return alpha_thing()\n"
_CLEAN = {
    "HOME": "/nonexistent",
    "PATH": os.environ.get("PATH", os.defpath),
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "protocol.file.allow",
    "GIT_CONFIG_VALUE_0": "always",
    "GIT_CONFIG_KEY_1": "init.defaultBranch",
    "GIT_CONFIG_VALUE_1": "main",
    "LC_ALL": "C",
}
_PLAIN = ("--no-optional-locks", "-c", "core.quotePath=false")
_SIGNATURE = b"gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----\n"


def git(
    root: Path, *arguments: str, who: str = "Ada", day: int = 1, data: bytes | None = None, check: bool = True
) -> str:
    """Plain git, as the owner of a repository runs it; nothing of this machine's or the caller's settings."""
    date = f"2024-01-{day:02}T12:00:00+00:00"
    people = {
        f"GIT_{role}_{key}": value
        for role in ("AUTHOR", "COMMITTER")
        for key, value in (("NAME", who), ("EMAIL", f"{who.lower()}@example.com"), ("DATE", date))
    }
    done = subprocess.run(
        ["git", *arguments], cwd=root, env=_CLEAN | people, input=data, capture_output=True, check=False
    )
    if check and done.returncode:
        raise AssertionError(f"git {' '.join(arguments)}: {done.stderr.decode()}")
    return done.stdout.decode("utf-8", "replace")


def commit(root: Path, message: str, *, who: str = "Ada", day: int = 1) -> str:
    """Everything committed; its hash."""
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", message, who=who, day=day)
    return git(root, "rev-parse", "HEAD").strip()


def write(root: Path, files: Mapping[str, str | bytes]) -> None:
    """Files below a root, folders made."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def grow(root: Path) -> Path:
    """Two files, three commits by two people; one line of a file is changed and not committed."""
    root.mkdir(parents=True, exist_ok=True)
    if not (root / ".git").exists():
        git(root, "init", "-q", "--template=")
    write(root, {"alpha.py": ALPHA, "pkg/beta.py": BETA, ".gitignore": "*.log\n"})
    commit(root, "Open", day=1)
    write(root, {"alpha.py": ALPHA.replace("1", "2"), "pkg/beta.py": BETA + "\n\nGAMMA = 1\n"})
    commit(root, "Add a gamma", who="Grace", day=2)
    write(root, {"pkg/beta.py": BETA + "\n\nGAMMA = 2\n"})
    commit(root, "Another gamma", day=3)
    write(root, {"alpha.py": ALPHA.replace("1", "2") + "\n\nDELTA = 1\n", "new.txt": "new\n", "noise.log": "x\n"})
    return root


def sign_head(root: Path) -> None:
    """Put a signature into the newest commit, which only a program of the user's could check."""
    raw = git(root, "cat-file", "commit", "HEAD").encode()
    head, _, message = raw.partition(b"\n\n")
    signed = git(root, "hash-object", "-t", "commit", "-w", "--stdin", data=head + b"\n" + _SIGNATURE + b"\n" + message)
    git(root, "update-ref", "HEAD", signed.strip())


class Canary:
    """A program that leaves a mark when it is run, and a file that nothing reads."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.mark = folder / "ran"
        self.program = folder / "trap.sh"
        self.program.write_text(f'#!/bin/sh\necho "$0 $*" >> "{self.mark}"\ncat "$@" 2>/dev/null\nexit 0\n')
        self.program.chmod(0o755)

    def sang(self) -> bool:
        """Whether it ran since it was last asked."""
        ran = self.mark.exists()
        self.mark.unlink(missing_ok=True)
        return ran


class PlainGit(Git):
    """git as its user runs it, for comparison; but for what lies in submodules, which we do not look at."""

    def run(self, command: str, *arguments: str) -> str:
        ignored = ["--ignore-submodules=all"] * (command in ("diff", "status"))
        return git(self._root, *_PLAIN, command, *ignored, *arguments)


HISTORY: dict[str, Callable[[Git], Any]] = {
    "log": lambda git: commit_history.log(git, "alpha.py", limit=5, follow=True),
    "is_tracked": lambda git: commit_history.is_tracked(git, "alpha.py"),
    "first_with": lambda git: commit_history.first_with(git, "alpha_thing"),
    "boundary": commit_history.boundary,
    "log_of_lines": lambda git: commit_history.log_of_lines(git, "alpha.py", 1, 2, limit=5),
    "is_committed": lambda git: commit_history.is_committed(git, "alpha.py", b"alpha = 1\n"),
    "blame": lambda git: [
        *commit_history.blame(git, "alpha.py", 1, 4),
        *commit_history.blame(git, "pkg/beta.py", 1, 1, f"{BETA}\n\nGAMMA = 2\n".encode()),
    ],
    "diff": lambda git: commit_history.diff(git, "HEAD", None),
    "co_changed": lambda git: commit_history.co_changed(git, "alpha.py", limit=5),
    "work_tree": commit_history.work_tree,
}
"""Every question of `commit_history`, by the name of its function."""

TOOL_CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("git_log", {}),
    ("git_blame", {"path": "alpha.py"}),
    ("git_diff", {}),
    ("git_diff", {"base": "HEAD~1", "path": "alpha.py"}),
    ("git_status", {}),
    ("explain_code_history", {"symbol": "alpha_thing", "origin": True}),
    ("explain_code_history", {"path": "alpha.py"}),
    ("find_related", {"path": "alpha.py"}),
    ("find_precedents", {"query": "gamma"}),
)


def questions_of_history() -> set[str]:
    """The public functions that take git, as they are in the module now."""
    functions = inspect.getmembers(commit_history, inspect.isfunction)
    return {name for name, function in functions if "git" in inspect.signature(function).parameters and name[0] != "_"}


def told(root: Path, *, plain: bool = False) -> dict[str, Any]:
    """What git tells about a repository made by `grow`."""
    asked = (PlainGit if plain else Git)(root)
    answers = {name: question(asked) for name, question in HISTORY.items()}
    answers["tracked"] = tracked_files(asked)
    answers["commits"] = read_commits(asked)
    answers["lines"] = {
        one.commit.hash: lines_added(asked, one.commit.hash, one.changed) for one in answers["commits"] if one.changed
    }
    # What is not committed bears the time of the question.
    answers["blame"] = [(line.line, line.commit.hash, line.commit.author) for line in answers["blame"]]
    return answers


def _without_now(data: Any) -> Any:
    """The data of a result without the dates of lines that are not committed."""
    if isinstance(data, dict):
        kept = {key: _without_now(value) for key, value in data.items()}
        return kept | {"date": None} if str(kept.get("hash")).startswith("0000") else kept
    return [_without_now(each) for each in data] if isinstance(data, list) else data


class Site:
    """A repository with a submodule, its index, and what every tool tells of it while it is harmless."""

    def __init__(self, folder: Path) -> None:
        self.canary = Canary(folder / "canary")
        self.root = grow(folder / "repo")
        inner = grow(self.root / "sub")
        git(self.root, "update-index", "--add", "--cacheinfo", f"160000,{git(inner, 'rev-parse', 'HEAD').strip()},sub")
        git(self.root, "commit", "-q", "-m", "Add a submodule", day=4)
        sign_head(self.root)
        (self.root / ".git/shallow").write_text(git(self.root, "rev-list", "--max-parents=0", "HEAD"))
        refresh(self.root, folder / "index.sqlite")
        self.codebase = Codebase.open(self.root, folder / "index.sqlite")
        self._kept = folder / "kept"
        for name in (".git", "sub/.git"):
            shutil.copytree(self.root / name, self._kept / name, symlinks=True)
        self.harmless = told(self.root)
        self.harmless_tools = self.ask()

    def disarm(self) -> None:
        """Take everything hostile away."""
        for name in (".git", "sub/.git"):
            shutil.rmtree(self.root / name)
            shutil.copytree(self._kept / name, self.root / name, symlinks=True)
        (self.root / ".gitattributes").unlink(missing_ok=True)
        self.canary.sang()

    def arm(self, files: Mapping[str, bytes]) -> None:
        """Append to files of the repository, and make git look into the files of the work tree."""
        for name, content in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as file:
                file.write(content)
        for path in (*self.root.glob("*.py"), *self.root.glob("*/*.py")):
            os.utime(path)

    def ask(self) -> list[tuple[str, str, Any, str | None]]:
        """Everything that tools tell from git."""
        answers: list[tuple[str, str, Any, str | None]] = []
        for name, arguments in TOOL_CALLS:
            self.codebase.history = HistoryMemory()  # git has to be run, whatever was asked before
            tool = TOOLS.get(name)
            result: ToolResult = tool.run(self.codebase, tool.read_arguments(arguments))
            answers.append((name, result.status, _without_now(result.data), result.error))
        return answers

    def run_plain_git(self) -> None:
        """What somebody who trusts the repository might type."""
        for command in (["status"], ["diff"], ["log", "-p", "-Salpha"], ["blame", "alpha.py"], ["show"]):
            git(self.root, *command, check=False)
