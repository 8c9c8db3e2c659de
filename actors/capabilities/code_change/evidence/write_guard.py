"""Says which files a session may write: those that it explored, and new ones beside them."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path, PurePosixPath

from actors.capabilities.code_change.evidence.changed_lines import is_binary_file
from actors.capabilities.code_change.evidence.checklist_evidence import path_problem
from runtime.codebase.files.ignore_rules import IgnoreRules, parse_pattern
from runtime.codebase.files.regular_file import read_start
from runtime.codebase.files.tool_caches import cache_folder
from runtime.codebase.git.work_trees import Change
from runtime.contracts.exploring_duties import LEAST_LINES, lines_shown
from runtime.contracts.observations import NEW_UNASKED
from runtime.contracts.session_state import SessionState

# What `jeeves init` writes: it makes no folder dirty and belongs to no change, agreements aside.
OUR_FOLDER = ".code-intel"
AGREEMENTS = f"{OUR_FOLDER}/agreements/"
# A file of fewer lines than count as read is looked at up to here.
MAX_SHORT_BYTES = 100_000
_SHORT_GIT = re.compile(r"git~\d+", re.IGNORECASE)
_BIDIRECTIONAL = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_AGREEMENT = re.compile(re.escape(AGREEMENTS) + r"[0-9a-f]{16}\.json")
OUR_FILES = frozenset(
    {
        ".mcp.json",
        ".claude/commands/code.md",
        ".claude/commands/outcome.md",
        ".codex/prompts/code.md",
        ".codex/prompts/outcome.md",
    }
)


def is_ours(file: str) -> bool:
    """Return whether a file is one that `jeeves init` wrote."""
    return (file.startswith(f"{OUR_FOLDER}/") and not file.startswith(AGREEMENTS)) or file in OUR_FILES


def protected_refusal(patterns: Sequence[str], file: str) -> str | None:
    """Return why no change may hold a file: patterns of the contract match it, or a folder above it; else None."""
    rules = IgnoreRules(filter(None, (parse_pattern(each.encode()) for each in patterns)))
    place = PurePosixPath(file)
    above = (parent for parent in place.parents if parent.name)
    names = ((str(place), False), *((str(parent), True) for parent in above))
    if any(rules.verdict(name.encode("utf-8", "surrogateescape"), is_folder) for name, is_folder in names):
        return f"'{file}' is among the protected_paths of the contract, which no change holds; the person edits it"
    return None


def write_refusal(
    state: SessionState,
    file: str,
    folder: Path,
    stood: Callable[[Collection[str]], Collection[str]],
    *,
    reads_count: bool,
    protected: Sequence[str] = (),
) -> str | None:
    """Return why a file may not be written; None where it may. `protected`: patterns of what no change may hold.

    `reads_count`: files that the server's tools showed count as explored, as in sessions without an exploration.
    `stood` returns which of some files are older than the change: others are new, also where a tool has shown them.
    """
    # What is protected is told first: no exploring helps.
    why = path_problem(file, folder) or unfit_name(file, folder) or protected_refusal(protected, file)
    if why is not None:
        return why
    if _AGREEMENT.fullmatch(file):
        # Data that a team commits; nothing follows it before a person has allowed it.
        return None
    why = _no_part_of_changes(file) or (_cached(file) if not stood({file}) else None)
    if why is not None:
        return why
    if (other := namesake(state, file, folder)) is not None:
        return (
            f"'{file}' and '{other}' differ in case alone, and are one file on many machines; use the one that is there"
        )
    if (above := _file_above(file, folder)) is not None:
        return f"'{file}' would lie below '{above}', which is a file; name a path whose folders are folders"
    known = _read(state, folder) if reads_count else set(state.explored)
    # A new file that was permitted has passed the rules for new ones, and its folder is the session's own.
    old = {*stood({file, *known}), *state.permitted}
    if file not in old:
        return _new_file_refusal(file, folder, known & old)
    if file in known:
        return None
    if is_binary_file(folder, file):
        return _binary_refusal(state, file, known & old)
    if file in state.shown and reads_count:
        return f"of '{file}' hardly a line was shown; read it with read_code, and ask again"
    if file in state.shown:
        return f"'{file}' was shown and is not among your explored files; call add_explored_files with it first"
    if (folder / file).exists():
        then = "ask again" if reads_count else "call add_explored_files"
        return f"'{file}' was never explored; read it with this server's tools, then {then}"
    return _new_file_refusal(file, folder, known & old)


def _no_part_of_changes(file: str) -> str | None:
    if _plain(file.split("/")[0]) == OUR_FOLDER:
        return f"'{file}' belongs to the contract and is not part of a change"
    if is_ours(file):
        return f"'{file}' is one of those that `jeeves init` writes, which are no part of a change; the person edits it"
    return None


def _cached(file: str) -> str | None:
    if not (cache := cache_folder(file)):
        return None
    return f"'{file}' would be one of those in {cache} that a tool keeps for itself, which are no part of a change"


def _read(state: SessionState, folder: Path) -> set[str]:
    """Return the files of which tools have shown some lines, or all there are: lists of files show the first alone."""
    return {f for f in {*state.explored, *state.shown} if f in state.permitted or _is_read(state, f, folder)}


def _is_read(state: SessionState, file: str, folder: Path) -> bool:
    seen = lines_shown(state, file)
    if seen >= LEAST_LINES or (seen and not (folder / file).is_file()):
        return True
    try:
        return seen > 0 and seen >= len(read_start(folder / file, MAX_SHORT_BYTES).splitlines())
    except (OSError, ValueError):
        return False


def _binary_refusal(state: SessionState, file: str, known: Collection[str]) -> str | None:
    """Return why a binary file may not be written; None where it was asked for, or something beside it explored."""
    parent = PurePosixPath(file).parent
    if file in state.shown or any(PurePosixPath(each).parent == parent for each in known):
        return None
    beside = "the top folder" if str(parent) == "." else f"'{parent}'"
    return (
        f"'{file}' is binary, so that no tool shows its lines; call read_code with it, or read a file that lies in "
        f"{beside}, then ask again; `{file}:1` is evidence of it"
    )


def _new_file_refusal(file: str, folder: Path, known: Collection[str]) -> str | None:
    """Return why a new file may not be written; None where it may: beside a file that was explored."""
    if _plain(PurePosixPath(file).name) == ".gitattributes":
        return f"'{file}' would decide how git shows files, and may hide them from a review; the person adds it"
    parents = {str(PurePosixPath(each).parent) for each in known}
    if str(PurePosixPath(file).parent) in parents or _is_new_folder_below(file, folder, parents):
        return None
    first = _first_folder(file, folder)
    beside = "the top folder" if first == "." else f"'{first}'"
    early = " It was written before it was permitted: take it away, with the folder if that is new, and ask again"
    return (
        f"'{file}' would be a new file in a folder of which nothing was explored; read an older file that lies in "
        f"{beside} with this server's tools and call add_explored_files first.{early * (folder / file).exists()}"
    )


def namesake(state: SessionState, file: str, folder: Path) -> str | None:
    """Return a file or folder that a name is the same as but for case or composed letters; None without one."""
    place = PurePosixPath(file)
    for path in (place, *place.parents):
        if path.name and (other := _listed_alike(folder, path)) is not None:
            return other
    alike = [each for each in state.permitted if each != file and _plain(each) == _plain(file)]
    # One that was there and is gone was renamed; one that never was is still to be written.
    return next((each for each in alike if each not in state.shown and each not in state.explored), None)


def _listed_alike(folder: Path, path: PurePosixPath) -> str | None:
    try:
        names = [entry.name for entry in (folder / path.parent).iterdir()]
    except OSError:
        return None
    if path.name in names:
        return None
    other = next((name for name in names if _plain(name) == _plain(path.name)), None)
    return None if other is None else str(path.with_name(other))


def _plain(name: str) -> str:
    """Return a name as the most forgiving systems take it: no case, no invisible characters, no blank or dot behind."""
    shown = "".join(char for char in name if unicodedata.category(char) != "Cf")
    return unicodedata.normalize("NFC", shown).casefold().partition(":")[0].rstrip(" .") or name


def unfit_name(file: str, folder: Path) -> str | None:
    """Return why a name is unfit for a file that is written here; None where it is not.

    Some systems take other spellings for git's own folder too: with invisible characters, short names, blanks behind.
    """
    if any(unicodedata.category(char) == "Cc" or char in _BIDIRECTIONAL for char in file):
        return f"{file[:200]!r} holds control characters; give the file a plain name"
    place = folder
    for part in PurePosixPath(file).parts:
        if _plain(part) == ".git" or _SHORT_GIT.fullmatch(part):
            return f"'{file[:200]}' lies in git's own folder, as some systems read it"
        if place != folder and os.path.lexists(place / ".git"):
            return f"'{file[:200]}' lies in {place.relative_to(folder)}, which is a repository of its own"
        place = place / part
    return None


def _file_above(file: str, folder: Path) -> str | None:
    above = (parent for parent in PurePosixPath(file).parents if parent.name)
    return next((str(parent) for parent in above if (folder / parent).is_file()), None)


def _is_new_folder_below(file: str, folder: Path, parents: set[str]) -> bool:
    """Return whether a file lies in a new folder whose first existing parent was explored."""
    return _first_folder(file, folder) in parents


def _first_folder(file: str, folder: Path) -> str:
    """Return the nearest folder above a file that is there, `.` for the top."""
    return next((str(parent) for parent in PurePosixPath(file).parents if (folder / parent).is_dir()), ".")


def unpermitted(state: SessionState, changed: Iterable[Change], folder: Path) -> dict[str, str]:
    """Return the changed files of a workspace that may not be in the change, each with the reason."""
    found = {}
    for file, how in ((change.file, change.how) for change in changed):
        if file not in state.permitted:
            found[file] = NEW_UNASKED if how == "added" else "check_write_target never permitted it"
        elif (folder / file).is_symlink():
            found[file] = "it is a link, and links are not written here; write a file"
    return found
