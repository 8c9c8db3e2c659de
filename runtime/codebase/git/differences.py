"""Reads how many files differ from a commit with one process of git for many of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from runtime.codebase.git.git_writer import MAX_ARGUMENTS, GitWriter
from runtime.errors import GitWriteError

# As many lines around a difference as no file that is judged has bytes.
WHOLE_FILE = "-U20000000"
_OPTIONS = ("-p", "--text", "--no-ext-diff", "--no-textconv", "--no-renames")
# Names that git does not quote in what it prints; others are asked for one by one.
_PLAIN = re.compile(r"[A-Za-z0-9_./+@-]+")
_HEAD = re.compile(r"^diff --git a/(.+) b/\1\n", re.MULTILINE)
_HUNK = re.compile(r"^@@ .*\n", re.MULTILINE)


def differences(git: GitWriter, commit: str, files: Sequence[str], context: str = "-U0") -> dict[str, str]:
    """Return file → how it differs from a commit, in git's form; a file that does not is left out."""
    plain = [file for file in files if _PLAIN.fullmatch(file)]
    found: dict[str, str] = {}
    for start in range(0, len(plain), MAX_ARGUMENTS):
        found.update(_of_many(git, commit, plain[start : start + MAX_ARGUMENTS], context))
    for file in (file for file in files if not _PLAIN.fullmatch(file)):
        told = git.run("diff-index", *_OPTIONS, context, commit, "--", file)
        found.update({file: told} if told else {})
    return found


def _of_many(git: GitWriter, commit: str, files: Sequence[str], context: str) -> dict[str, str]:
    try:
        told = git.run("diff-index", *_OPTIONS, context, commit, "--", *files)
    except GitWriteError:
        # All of them together may be more than is read of one process.
        if len(files) == 1:
            raise
        half = len(files) // 2
        return _of_many(git, commit, files[:half], context) | _of_many(git, commit, files[half:], context)
    return dict(_parted(told))


def _parted(told: str) -> Iterator[tuple[str, str]]:
    """Yield each file of a difference with its part of it: lines of files stand behind a mark, heads do not."""
    heads = list(_HEAD.finditer(told))
    for head, end in zip(heads, [*(each.start() for each in heads[1:]), len(told)], strict=True):
        yield head.group(1), told[head.start() : end]


def marked_lines(difference: str) -> list[str]:
    """Return the lines of a difference, each behind its mark, without the heads around them."""
    first = _HUNK.search(difference)
    return difference[first.end() :].split("\n") if first is not None else []


def old_text(difference: str) -> str:
    """Return what stood in a file before, of a difference that shows whole files."""
    return "\n".join(line[1:] for line in marked_lines(difference) if line[:1] in {" ", "-"})
