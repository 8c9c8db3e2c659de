"""Finds the commits that added a thing of the sort that is to be added: they show what to touch.

A commit counts by the words that its subject shares with the thing, the rarer in other subjects the more, and by
whether it added something: a file, or by its own words. Pure but for `read_commits` and `lines_added`, which ask git.
"""

from __future__ import annotations

import math
import posixpath
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.walk import is_secret
from runtime.codebase.files.words import index_terms
from runtime.codebase.git.commit_history import COMMIT_FORMAT, RECENT_COMMITS, Commit
from runtime.codebase.git.git_process import Git

# A commit of more files did more than one thing, and one of a single file needed no other place.
MAX_FILES = 25
MIN_FILES = 2
# What it is worth that a new file is called after the thing, and that something was added beside what was changed.
OF_PATH, BESIDE_CHANGED = 1.5, 1.5
# That what is added is all that the subject names: «Add rclone backend».
NAMES_IT = 2.0
# Where no line of a commit stands any more, this is left of its score, and so much where a file that it added does.
LEAST_STANDING, WITH_NEW_FILE = 0.3, 0.7

_VERB = (
    r"(?:add(?:s|ed|ing)?|implement(?:s|ed|ing)?|introduc(?:e|es|ed|ing)|support(?:s|ed|ing)?|creat(?:e|es|ed|ing)"
    r"|new)\b"
)
_ADDS = re.compile(rf"(?:\[[^\[\]\n]{{0,40}}+\]\s*+|[^\w\[]++|\[)*+{_VERB}", re.IGNORECASE)
# «backend: », «feat(s3): »: where it is done. «… to the options», «… for adapters»: what it is done to, or «(#12)».
_SCOPE = re.compile(rf"(?!{_VERB})[\w/, .-]*+(?:\([^()]*+\))?!?:\s++(?=\S)", re.IGNORECASE)
_DONE_TO = re.compile(
    r"(?<=\w)['\"`)]*\s(?:to|for|in|into|on|from|with|of|when|if|via|by|so|that|which)\s.*|\s\(.*|[,;:].*",
    re.IGNORECASE,
)
_HUNK = re.compile(r"@@ -\S+ \+")
_TELLS = re.compile(r"\w.*\w")
_FEATURE = re.compile(r"feat(?:ure)?\b", re.IGNORECASE)
# A longer line is data, or was made by a program.
MAX_LINE_CHARS = 400


@dataclass(frozen=True, slots=True)
class FilesOfCommit:
    """Holds a commit with the files that it added and those that it changed."""

    commit: Commit
    added: tuple[str, ...]
    changed: tuple[str, ...]

    @property
    def says_so(self) -> bool:
        """True if its subject says that it adds something."""
        subject = self.commit.subject
        return _FEATURE.match(subject) is not None or _ADDS.match(_without_scope(subject)) is not None


def read_commits(git: Git, *, recent: int = RECENT_COMMITS) -> list[FilesOfCommit]:
    """Return the newest commits that are no merges with their files, newest first; secrets are left out."""
    options = ("--no-merges", f"--max-count={recent}", "--name-status", "--relative", "--no-renames")
    fields = iter(git.history("log", f"--format=%x00{COMMIT_FORMAT}", *options).split("\0")[1:])
    found = []
    for name, author, date, subject, files in zip(fields, fields, fields, fields, fields, strict=False):
        rows = [row.split("\t", 1) for row in files.split("\n") if "\t" in row]
        kept = [(state, path) for state, path in rows if not path.startswith('"') and not is_secret(path)]
        added = tuple(path for state, path in kept if state == "A")
        changed = tuple(path for state, path in kept if state == "M")
        found.append(FilesOfCommit(Commit(name, author, date, subject), added, changed))
    return found


def ranked_precedents(
    commits: Sequence[FilesOfCommit], terms: Sequence[str], files: Collection[str]
) -> list[tuple[float, FilesOfCommit]]:
    """Return the commits that added a thing called by `terms`, each with its score, best first, of equals the newest.

    The last of the terms is what the thing is («storage backend»): the subject or a new file must have it. What a
    subject tells beside the thing («for …», «to …») does not count. `files`: those that there are; others are left out
    of the commits.
    """
    if not terms:
        return []
    said = [set(index_terms(thing_of(one.commit.subject)).split()) for one in commits]
    counts = Counter(term for words in said for term in set(terms) & words)
    weights = {term: math.log1p(len(commits) / (1 + counts[term])) for term in terms}
    scored = []
    for one, words in zip(commits, said, strict=True):
        if not MIN_FILES <= len(one.added) + len(one.changed) <= MAX_FILES:
            continue
        left = FilesOfCommit(one.commit, *(_still_there(paths, files) for paths in (one.added, one.changed)))
        score = _score(left, words, terms, weights)
        if score > 0:
            scored.append((score, left))
    return sorted(scored, key=lambda pair: -pair[0])


def thing_of(subject: str) -> str:
    """Return what a subject says was added, without where, and without what it was added to or is for."""
    return _DONE_TO.sub("", _without_scope(subject))


def _without_scope(subject: str) -> str:
    found = _SCOPE.match(subject)
    return subject if found is None else subject[found.end() :]


def _still_there(paths: Sequence[str], files: Collection[str]) -> tuple[str, ...]:
    return tuple(path for path in paths if path in files)


def _score(one: FilesOfCommit, words: set[str], terms: Sequence[str], weights: Mapping[str, float]) -> float:
    """Return how well a commit shows how such a thing is added; 0 for one that does not.

    That the thing stands anywhere in its subject is not enough: «Add command completion» adds no command. Of a thing of
    several words («border style») the subject has two, or a new file is called after it: «Add cursor style» adds none.
    """
    of_code = [path for path in one.added if kind_of_path(path) == "source"]
    new = {term for path in of_code for term in index_terms(_named(path)).split()}
    if not one.changed or not one.says_so or terms[-1] not in words | new:
        return 0.0
    shared = set(terms) & words
    names_it = index_terms(thing_of(one.commit.subject)).split()[-1:] == [terms[-1]]
    is_of_path = terms[-1] in new
    is_such = names_it or is_of_path if len(terms) == 1 else names_it and is_of_path
    if not (is_such or len(shared) > 1):
        return 0.0
    score = math.fsum(weights[term] for term in shared)
    return score + OF_PATH * is_of_path + BESIDE_CHANGED * bool(one.added) + NAMES_IT * names_it


def _named(path: str) -> str:
    """Return a path without its ending, its last folder and its name as words."""
    folder, name = posixpath.split(path)
    return f"{posixpath.basename(folder)} {name.partition('.')[0]}"


def lines_added(git: Git, commit: str, paths: Sequence[str]) -> dict[str, list[str]]:
    """Return the lines that a commit added to each of some files, stripped, without those that tell nothing."""
    text = git.history(
        "show", "--format=", "--unified=0", "--no-renames", "--no-color", "--relative", commit, "--", *paths
    )
    added: dict[str, list[str]] = {}
    own: list[str] = []
    is_head = True
    for line in text.split("\n"):
        if line.startswith("diff --git "):
            is_head = True
        elif is_head and line.startswith("+++ "):
            own = added.setdefault(line[4:].removeprefix("b/").rstrip("\t"), [])
        elif _HUNK.match(line):
            is_head = False
        elif not is_head and line.startswith("+") and len(line) <= MAX_LINE_CHARS and _TELLS.search(line, 1):
            own.append(line[1:].strip())
    return {path: lines for path, lines in added.items() if path in paths and lines}


def standing_lines(lines: Sequence[str], added: Sequence[str]) -> list[int]:
    """Return the numbers of the lines of a file that a commit added and that still stand, from 1, each in its turn.

    A line that occurs more than once is not known to be that one.
    """
    counts = Counter(line.strip() for line in lines)
    wanted = {line for line in added if counts[line] == 1}
    return [number for number, line in enumerate(lines, 1) if line.strip() in wanted]
