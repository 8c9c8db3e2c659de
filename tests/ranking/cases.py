"""Reads questions whose answers are known, and mines commits for reports with known answers."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from runtime.codebase.files.path_kinds import kind_of_path

# Each put in two ways, with the lines that answer it.
QUESTIONS = Path(__file__).parent / "questions.jsonl"
# The same about repositories that train nothing: some chose how strongly a second reading counts, others judge it.
HELD_OUT = Path(__file__).parent / "held_out.jsonl"
COMMITS_READ = 250
COMMITS_OF_EACH = 14
MAX_FILES, MAX_PLACES = 4, 8
LEAST_SUBJECT_WORDS = 5
LEAST_LINE_CHARS = 20
NEAR_LINES = 6
MAX_MESSAGE_CHARS = 3_000

_CODE = (".py", ".js", ".ts", ".tsx", ".go", ".rs", ".java", ".c", ".h", ".cc", ".cpp", ".rb", ".php", ".cs", ".kt")
_TRAILER = re.compile(
    r"^(?:Signed-off-by|Co-authored-by|Reviewed-by|Closes|Fixes|PR-URL|\(cherry).*$", re.MULTILINE | re.IGNORECASE
)
_ROUTINE = re.compile(
    r"(?:bump|release|update|merge|chore|docs?|test|ci|build|prepare|revert|add test|fix typo|changelog|style|lint)",
    re.IGNORECASE,
)


class Place(msgspec.Struct, frozen=True):
    """Locates lines (inclusive) of a file."""

    file: str
    start: int
    end: int

    def meets(self, file: str, start: int, end: int) -> bool:
        """Return True for lines of the same file that overlap."""
        return self.file == file and self.start <= end and start <= self.end


class Nugget(msgspec.Struct, frozen=True):
    """Names one thing that an answer must say, by the texts and places of which any shows it."""

    any_place: tuple[Place, ...] = ()
    any_text: tuple[str, ...] = ()


class Case(msgspec.Struct, frozen=True):
    """Holds a question, the places at which an answer should begin, and what else it must show.

    A question about what is not there has no places; `form`, if given, says how it puts its subject.
    """

    id: str
    repo: str
    question: str
    kind: str = ""
    base_commit: str = ""
    lead: tuple[Place, ...] = ()
    nuggets: tuple[Nugget, ...] = ()
    form: str = ""

    @property
    def folder(self) -> str:
        """The name of the repository's clone."""
        return self.repo.replace("/", "+")


def read_cases(path: Path, *, unanswerable: bool = False) -> list[Case]:
    """Return the cases of a file that have an answer in their repository; with `unanswerable` the others as well."""
    lines = path.read_text(encoding="utf-8").splitlines()
    cases = (msgspec.json.decode(line, type=Case) for line in lines if line.strip())
    return [case for case in cases if case.lead or unanswerable]


class _TwiceAsked(msgspec.Struct, frozen=True):
    other: str


def both_wordings(path: Path = QUESTIONS) -> list[Case]:
    """Return the cases of a file whose questions are put in two ways, each once for each wording."""
    cases = read_cases(path)
    others = [msgspec.json.decode(line, type=_TwiceAsked).other for line in path.read_text("utf-8").splitlines()]
    return [*cases, *(msgspec.structs.replace(one, question=other) for one, other in zip(cases, others, strict=True))]


def commit_cases(clone: Path, repo: str) -> list[Case]:
    """Return cases made of commits: the message asks, the lines that it added and that are left answer.

    Only commits with a telling subject that changed at most four source files count.
    """
    command = ["git", "-C", str(clone), "log", "--no-merges", "-n", str(COMMITS_READ), "-p", "-U0", "--no-color"]
    command += ["--no-ext-diff", "--format=%x01%H%x02%B%x03"]
    raw = subprocess.run(command, capture_output=True, check=True, timeout=300).stdout.decode("utf-8", "replace")
    cases: list[Case] = []
    for part in raw.split("\x01")[1:]:
        head, _, diff = part.partition("\x03")
        commit, _, message = head.partition("\x02")
        question = _TRAILER.sub("", message).strip()[:MAX_MESSAGE_CHARS]
        subject = question.partition("\n")[0]
        if len(subject.split()) < LEAST_SUBJECT_WORDS or _ROUTINE.match(subject):
            continue
        places = tuple(_places(clone, diff.split("\n")))
        if 1 <= len(places) <= MAX_PLACES:
            nuggets = (Nugget(places),)
            cases.append(Case(f"{commit[:12]}", repo, question, "commit", "", places, nuggets))
        if len(cases) == COMMITS_OF_EACH:
            break
    return cases


def _places(clone: Path, diff: Iterable[str]) -> list[Place]:
    """Return the ranges in which added lines stand today; none for a change of no source file or of more than four."""
    added: dict[str, list[str]] = {}
    file = ""
    for line in diff:
        if line.startswith("+++ "):
            file = line[6:] if line.startswith("+++ b/") else ""
        elif line.startswith("+") and file.endswith(_CODE) and kind_of_path(file) == "source":
            added.setdefault(file, []).append(line[1:].strip())
    if not 1 <= len(added) <= MAX_FILES:
        return []
    found: list[Place] = []
    for file, lines in added.items():
        if (clone / file).is_file():
            text = (clone / file).read_text("utf-8", "replace").split("\n")
            found += _ranges(file, text, {line for line in lines if len(line) > LEAST_LINE_CHARS})
    return found


def _ranges(file: str, text: Sequence[str], wanted: set[str]) -> list[Place]:
    at: dict[str, list[int]] = {}
    for number, line in enumerate(text, 1):
        if line.strip() in wanted:
            at.setdefault(line.strip(), []).append(number)
    ranges: list[Place] = []
    for number in sorted(numbers[0] for numbers in at.values() if len(numbers) == 1):
        if ranges and number - ranges[-1].end <= NEAR_LINES:
            ranges[-1] = Place(file, ranges[-1].start, number)
        else:
            ranges.append(Place(file, number, number))
    return ranges
