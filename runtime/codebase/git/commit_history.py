"""Reads log, blame, diff, status and co-changes from a repository's git history.

Paths are relative to the repository's root, as in the index. Files that may hold secrets never appear with content.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from runtime.codebase.files.walk import is_secret
from runtime.codebase.git.git_process import Git
from runtime.errors import RepositoryError

# Whoever looks for the folder `.git` alone takes it for a repository all the same.
NO_HEAD = (
    "git takes this folder for no repository, as where the file HEAD in `.git` names neither a branch nor a commit; "
    "`git status` there says more"
)
MAX_COMMITS_FOR_CHANGES = 400
# Reading so many at once takes git as long as finding those of one file in a history of some ten thousand.
RECENT_COMMITS = 5_000
MAX_FILES_OF_COMMIT = 40
MAX_DIFF_CHARS = 20_000

# NUL is the one character that no message and no name can hold, so that neither can pose as another commit.
COMMIT_FORMAT = "%H%x00%an%x00%aI%x00%s%x00"
_NAMES_ONLY = ("--name-only", "--relative", "--no-renames")
_BLAME_HEAD = re.compile(r"^([0-9a-f]{40,64}) \d+ (\d+)(?: \d+)?$")


@dataclass(frozen=True, slots=True)
class Commit:
    """Describes a commit; `subject` is the first line of its message.

    `date` is ISO 8601; from `blame` it is seconds since the epoch, as git prints it there.
    """

    hash: str
    author: str
    date: str
    subject: str


@dataclass(frozen=True, slots=True)
class BlamedLine:
    """Pairs a line of the current file with the commit that last changed it; all zeros as hash if uncommitted."""

    line: int
    commit: Commit


@dataclass(frozen=True, slots=True)
class CoChange:
    """Counts and scores the commits in which a file changed together with another; `newest` is the latest of them."""

    path: str
    commits: int
    score: float
    newest: Commit


@dataclass(frozen=True, slots=True)
class WorkTree:
    """Describes the work tree: branch (None if detached), HEAD (None before the first commit), and changed paths.

    Each change is a pair of state (such as `modified` or `untracked`) and path.
    """

    branch: str | None
    head: str | None
    ahead: int
    behind: int
    changes: tuple[tuple[str, str], ...]


def log(git: Git, path: str | None, *, limit: int, follow: bool = False, merges: bool = True) -> list[Commit]:
    """Return the commits that touched a file or folder (None: any path), newest first.

    `follow` includes commits from before a file was renamed; `merges` includes merge commits.
    """
    place = ["--no-merges"] * (not merges) + ["--follow"] * follow + (["--", path] if path else [])
    return list(_commits(git.history("log", f"--max-count={limit}", f"--format={COMMIT_FORMAT}", *place)))


def is_tracked(git: Git, path: str) -> bool:
    """Return True if HEAD contains that file, or a file below that folder."""
    return bool(git.history("ls-tree", "--name-only", "HEAD", "--", path).strip())


def first_with(git: Git, text: str) -> Commit | None:
    """Return the oldest commit that changed how often a text occurs in the repository: the one that introduced it."""
    found = list(_commits(git.history("log", f"-S{text}", f"--format={COMMIT_FORMAT}")))
    return found[-1] if found else None


def boundary(git: Git) -> list[str]:
    """Return the commits at which a shallow clone ends; their changes are unknown. Empty for a full clone."""
    if git.history("rev-parse", "--is-shallow-repository").strip() != "true":
        return []
    return git.history("rev-list", "--max-parents=0", "HEAD").split()


def log_of_lines(git: Git, path: str, start: int, end: int, *, limit: int) -> list[Commit]:
    """Return the commits that changed lines `start` to `end` of a file as of HEAD, newest first, without merges."""
    lines = f"-L{start},{end}:{path}"
    return list(
        _commits(
            git.history(
                "log",
                "--no-merges",
                f"--max-count={limit}",
                f"--format={COMMIT_FORMAT}",
                "--no-patch",
                lines,
            )
        )
    )


def _commits(text: str) -> Iterator[Commit]:
    fields = iter(text.split("\0"))
    for name, author, date, subject in zip(fields, fields, fields, fields, strict=False):
        yield Commit(name.removeprefix("\n"), author, date, subject)


def is_committed(git: Git, path: str, content: bytes) -> bool:
    """Return True if HEAD has a file of exactly that content at the path."""
    listed = git.history("ls-tree", "HEAD", "--", path).partition("\t")[0].split()
    return len(listed) == 3 and listed[2] in names_of_blob(content)


def names_of_blob(content: bytes) -> frozenset[str]:
    """Return the names that git gives to a file's content, by each way of hashing that a repository may have."""
    data = b"blob %d\0%b" % (len(content), content)
    # The names of objects, which git chose: no secret is protected by them.
    return frozenset({hashlib.sha1(data, usedforsecurity=False).hexdigest(), hashlib.sha256(data).hexdigest()})


def blame(git: Git, path: str, start: int, end: int, content: bytes = b"") -> list[BlamedLine]:
    """Return the commit that last changed each of lines `start` to `end` (inclusive) of the file in the work tree.

    If `content` is that of the file and HEAD has the same, HEAD is asked, whose answer is remembered.
    """
    lines_of = ("--line-porcelain", f"-L{start},{end}")
    if content and is_committed(git, path, content):
        text = git.history("blame", *lines_of, "HEAD", "--", path)
    else:
        text = git.run("blame", *lines_of, "--", path)
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
    """Return the diff from a commit to the work tree, without files that may hold secrets, and whether it was cut."""
    changed = git.run("diff", "--name-only", "-z", "--relative", *_since(base, path))
    paths = [name for name in changed.split("\0") if name and not is_secret(name)]
    if not paths:
        return "", False
    text = git.run("diff", "--relative", base, "--", *paths[:200])
    return text[:MAX_DIFF_CHARS], len(text) > MAX_DIFF_CHARS or len(paths) > 200


def _since(base: str, path: str | None) -> list[str]:
    return [base, "--", path] if path else [base, "--"]


def co_changed(git: Git, path: str, *, limit: int, recent: int = RECENT_COMMITS) -> list[CoChange]:
    """Return the files that changed most often in the same commits as this one, best first.

    The `recent` newest commits count, read once for all files; of a file that none of them touched, those that did.
    A commit of many files is weak evidence about any two of them, so each counts by the inverse logarithm of its
    size; commits of more than 40 files do not count at all.
    """
    touching = _touching(git, path, f"--max-count={recent}")
    if not touching:
        touching = _touching(git, path, f"--max-count={MAX_COMMITS_FOR_CHANGES}", "--full-diff", "--", path)
    shared: Counter[str] = Counter()
    scores: dict[str, float] = {}
    newest: dict[str, Commit] = {}
    for commit, files in touching:
        if not 2 <= len(files) <= MAX_FILES_OF_COMMIT:
            continue
        for other in files - {path}:
            shared[other] += 1
            scores[other] = scores.get(other, 0.0) + 1 / math.log2(1 + len(files))
            newest.setdefault(other, commit)
    ranked = sorted(scores, key=lambda other: (-scores[other], other))
    return [CoChange(other, shared[other], round(scores[other], 4), newest[other]) for other in ranked[:limit]]


def _touching(git: Git, path: str, *which: str) -> list[tuple[Commit, set[str]]]:
    """Return those of some commits that touched a file, newest first, each with all files that it touched."""
    text = git.history("log", "--no-merges", f"--format=%x00{COMMIT_FORMAT}", *_NAMES_ONLY, *which)
    fields = iter(text.split("\0")[1:])
    line = f"\n{path}\n"
    found = []
    for name, author, date, subject, files in zip(fields, fields, fields, fields, fields, strict=False):
        if line in files:
            found.append((Commit(name, author, date, subject), set(files.split("\n")) - {""}))
    return found[:MAX_COMMITS_FOR_CHANGES]


def work_tree(git: Git) -> WorkTree:
    """Return the state of the work tree: branch, HEAD, and the paths that differ from HEAD."""
    try:
        above = git.run("rev-parse", "--show-prefix").strip()
    except RepositoryError as error:
        if "status" not in error.values:
            raise
        raise RepositoryError(NO_HEAD) from error
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
