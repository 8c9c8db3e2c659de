"""Reports paths named in a question that may not be read: outside the root, secret, or skipped.

An answer states this in a sentence, so that its silence is not taken to mean that nothing is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from actors.capabilities.code_analysis.evidence.claims import code_span, plain
from runtime.codebase.codebase import Codebase
from runtime.codebase.files.paths import is_denied
from runtime.codebase.index.records import IndexedFile
from runtime.errors import RepositoryError

MAX_REPORTED = 4
MAX_LOOKED_UP = 20
_MAX_PATH_CHARS = 200

# `</b>` of markup.
_CLOSING_TAG = re.compile(r"</[A-Za-z][\w:-]{0,60}\s?>")
_WORD = re.compile(r"[^\s`'\"<>(){},;|]+")
_OUTSIDE = re.compile(r"^/[\w.~-]|(?:^|/)\.\.(?:/|$)")

# The index's reason for skipping a file → its sentence in the answer.
_WHY = {
    "secret": "may hold secrets; it is neither read nor cited",
    "too_large": "is larger than what is read, and was not looked at",
    "binary": "is binary and was not looked at",
    "symlink_outside": "is a link that leads outside the repository; it is not followed",
    "symlink_duplicate": "is a link to another file of the repository, which was read in its place",
    "unreadable": "cannot be read",
    "not_a_file": "is no regular file and was not looked at",
}


def folders_not_read(notes: Iterable[object]) -> list[str]:
    """Return one sentence about folders that the index could not read, with at most MAX_REPORTED notes."""
    said = [" ".join(str(note).split())[:_MAX_PATH_CHARS] for note in notes]
    more = [f"{len(said) - MAX_REPORTED} more"] if len(said) > MAX_REPORTED else []
    return [plain(f"Not all folders were read: {'; '.join([*said[:MAX_REPORTED], *more])}.")] if said else []


def not_read(codebase: Codebase, question: str, claims: str, cited: Iterable[str] = ()) -> list[str]:
    """Return a sentence for each unreadable path in a question, at most MAX_REPORTED.

    A word that only looks like an outside path, such as the route of a service, is ignored when `claims` has it or when
    one of the files `cited` has it in quotes.
    """
    found = _WORD.findall(_CLOSING_TAG.sub(" ", question))
    words = dict.fromkeys(word.rstrip(".?!:") for word in found if len(word) <= _MAX_PATH_CHARS)
    paths = [word for word in words if "." in word or "/" in word][:MAX_LOOKED_UP]
    files = tuple(dict.fromkeys(cited))
    sentences = (_sentence_about(codebase, path, claims, files) for path in paths)
    said = dict.fromkeys(sentence for sentence in sentences if sentence is not None)
    return list(said)[:MAX_REPORTED]


def _sentence_about(codebase: Codebase, path: str, claims: str, cited: Sequence[str]) -> str | None:
    if _leads_outside(codebase, path):
        if path in claims or _is_quoted(codebase, path, cited):
            return None
        return _sentence(path, "is no path of this repository; nothing outside it is read")
    skipped = _skipped(codebase.files(), path)
    return None if skipped is None or skipped.note not in _WHY else _sentence(skipped.path, _WHY[skipped.note])


def _is_quoted(codebase: Codebase, path: str, files: Sequence[str]) -> bool:
    if not path.startswith("/") or ".." in path:
        return False
    sources = filter(None, map(codebase.try_source, files))
    return any(f"{quote}{path}{quote}" in line for source in sources for line in source.lines for quote in "\"'")


def _leads_outside(codebase: Codebase, path: str) -> bool:
    if path.startswith("~/"):
        return True
    if not _OUTSIDE.search(path):
        return False
    try:
        codebase.relative(path)
    except RepositoryError as error:
        return is_denied(error)
    return False


def _skipped(files: Iterable[IndexedFile], word: str) -> IndexedFile | None:
    """Return the skipped file at a path, or the only file of that name."""
    path = PurePosixPath(word).as_posix()
    bearing = [file for file in files if file.path == path or file.path.endswith("/" + path)]
    exact = [file for file in bearing if file.path == path] or bearing
    return exact[0] if len(exact) == 1 and not exact[0].is_readable else None


def _sentence(path: str, said: str) -> str:
    return plain(f"{code_span(path)} {said}.")
