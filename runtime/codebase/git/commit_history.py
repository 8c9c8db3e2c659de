"""What git tells of files and lines: commits, who wrote a line last, differences, and what changes together.

Paths are relative to the repository's root, as in the index. Files that may hold secrets never appear with content.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from runtime.codebase.files.walk import is_secret
from runtime.codebase.git.git_process import Git

MAX_COMMITS_FOR_CHANGES = 400
MAX_FILES_OF_COMMIT = 40
MAX_DIFF_CHARS = 20_000

_FORMAT = "%x1e%H%x1f%an%x1f%aI%x1f%s"
_BLAME_HEAD = re.compile(r"^([0-9a-f]{40,64}) \d+ (\d+)(?: \d+)?$")


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit; `date` is ISO 8601, `subject` the first line of its message."""

    hash: str
    author: str
    date: str
    subject: str


@dataclass(frozen=True, slots=True)
class BlamedLine:
    """A line of the current file and the commit that it comes from; zeros as hash for what is not committed."""

    line: int
    commit: Commit


@dataclass(frozen=True, slots=True)
class CoChange:
    """A file that changed together with another: in how many commits, how telling they are, and the newest of them."""

    path: str
    commits: int
    score: float
    newest: Commit


@dataclass(frozen=True, slots=True)
class WorkTree:
    """State of the work tree: branch (None when detached), HEAD, and paths by what happened to them."""

    branch: str | None
    head: str | None
    ahead: int
    behind: int
    changes: tuple[tuple[str, str], ...]


def log(git: Git, path: str | None, *, limit: int, follow: bool = False, merges: bool = True) -> list[Commit]:
    """Commits that touched a file or folder (None: any), newest first.

    `follow`: of a file, under older names, too. `merges`: with those that merely merge.
    """
    place = ["--no-merges"] * (not merges) + ["--follow"] * follow + (["--", path] if path else [])
    return list(_commits(git.run("log", f"--max-count={limit}", f"--format={_FORMAT}", *place)))


def is_tracked(git: Git, path: str) -> bool:
    """True when HEAD has that file, or a file below that folder."""
    return bool(git.run("ls-tree", "--name-only", "HEAD", "--", path).strip())


def first_with(git: Git, text: str) -> Commit | None:
    """The oldest commit that changed how often a text occurs in the repository: the one that brought it in."""
    found = list(_commits(git.run("log", f"-S{text}", f"--format={_FORMAT}")))
    return found[-1] if found else None


def boundary(git: Git) -> list[str]:
    """The hashes at which a shallow clone ends: what they changed cannot be told. Empty for a full one."""
    if git.run("rev-parse", "--is-shallow-repository").strip() != "true":
        return []
    return git.run("rev-list", "--max-parents=0", "HEAD").split()


def log_of_lines(git: Git, path: str, start: int, end: int, *, limit: int) -> list[Commit]:
    """Commits that changed lines `start` to `end` of a file as it is in HEAD, newest first, without merges."""
    lines = f"-L{start},{end}:{path}"
    return list(
        _commits(
            git.run(
                "log",
                "--no-merges",
                f"--max-count={limit}",
                f"--format={_FORMAT}",
                "--no-patch",
                lines,
            )
        )
    )


def _commits(text: str) -> Iterator[Commit]:
    for record in text.split("\x1e")[1:]:
        fields = record.split("\n", 1)[0].split("\x1f")
        if len(fields) == 4:
            yield Commit(*fields)


def blame(git: Git, path: str, start: int, end: int) -> list[BlamedLine]:
    """Who wrote lines `start` to `end` (both included) of the file in the work tree."""
    text = git.run("blame", "--line-porcelain", f"-L{start},{end}", "--", path)
    lines: list[BlamedLine] = []
    fields: dict[str, str] = {}
    for row in text.split("\n"):
        if row.startswith("\t"):
            made = Commit(fields["hash"], fields.get("author", ""), fields.get("author-time", ""), fields["summary"])
            lines.append(BlamedLine(int(fields["line"]), made))
        elif head := _BLAME_HEAD.match(row):
            fields = {"hash": head.group(1), "line": head.group(2), "summary": ""}
        else:
            key, _, value = row.partition(" ")
            fields[key] = value
    return lines


def diff(git: Git, base: str, path: str | None) -> tuple[str, bool]:
    """The difference from a commit to the work tree, without files that may hold secrets, and whether it was cut."""
    changed = git.run("diff", "--name-only", "-z", "--relative", *_since(base, path))
    paths = [name for name in changed.split("\0") if name and not is_secret(name)]
    if not paths:
        return "", False
    text = git.run("diff", "--relative", base, "--", *paths[:200])
    return text[:MAX_DIFF_CHARS], len(text) > MAX_DIFF_CHARS or len(paths) > 200


def _since(base: str, path: str | None) -> list[str]:
    return [base, "--", path] if path else [base, "--"]


def co_changed(git: Git, path: str, *, limit: int) -> list[CoChange]:
    """The files that changed with this one most often, best first.

    A commit of many files says little about any two of them, so each counts by the logarithm of its size; commits of
    more than 40 files do not count at all.
    """
    known = {commit.hash: commit for commit in log(git, path, limit=MAX_COMMITS_FOR_CHANGES, merges=False)}
    if not known:
        return []
    text = git.run("show", "--format=%x1e%H", "--name-only", "--relative", "--no-renames", *known)
    shared: Counter[str] = Counter()
    scores: dict[str, float] = {}
    newest: dict[str, Commit] = {}
    for record in text.split("\x1e")[1:]:
        made, *names = record.split("\n")
        files = {name for name in names if name}
        if path not in files or not 2 <= len(files) <= MAX_FILES_OF_COMMIT:
            continue
        for other in files - {path}:
            shared[other] += 1
            scores[other] = scores.get(other, 0.0) + 1 / math.log2(1 + len(files))
            newest.setdefault(other, known[made])
    ranked = sorted(scores, key=lambda other: (-scores[other], other))
    return [CoChange(other, shared[other], round(scores[other], 4), newest[other]) for other in ranked[:limit]]


def work_tree(git: Git) -> WorkTree:
    """State of the work tree: branch, HEAD, and what differs from HEAD, by path."""
    above = git.run("rev-parse", "--show-prefix").strip()
    text = git.run("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", ".")
    heads: dict[str, str] = {}
    changes: list[tuple[str, str]] = []
    fields = iter(text.split("\0"))
    for field in fields:
        if field.startswith("# "):
            key, _, value = field[2:].partition(" ")
            heads[key] = value
        elif field.startswith("? "):
            changes.append(("untracked", field[2:]))
        elif field.startswith("1 "):
            changes.append((_state(field[2:4]), field.split(" ", 8)[8]))
        elif field.startswith("2 "):
            changes.append(("renamed", field.split(" ", 9)[9]))
            next(fields, None)
        elif field.startswith("u "):
            changes.append(("conflict", field.split(" ", 10)[10]))
    branch, head = heads.get("branch.head"), heads.get("branch.oid")
    ahead, _, behind = heads.get("branch.ab", "+0 -0").partition(" ")
    return WorkTree(
        None if branch in (None, "(detached)") else branch,
        None if head in (None, "(initial)") else head,
        abs(int(ahead)),
        abs(int(behind)),
        tuple((state, path.removeprefix(above)) for state, path in changes),
    )


def _state(flags: str) -> str:
    for letter, name in (("A", "added"), ("D", "deleted"), ("R", "renamed"), ("T", "type_changed")):
        if letter in flags:
            return name
    return "modified"
