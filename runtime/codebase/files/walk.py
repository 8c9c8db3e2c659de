"""Lists the files of a repository, and the reasons for which some are skipped.

    walk(root, options) -> Walk(entries, notes)

The root is exactly the given folder. `.gitignore` files at and below it count, those above it do not; a few folders
that never hold source (`node_modules`, caches, virtual environments) are always excluded. An ignore file that is no
regular file, is a link, or is too large is not used, and noted. Ignored files do not appear
at all; a file that must not be read appears with a `skip_reason`. Only names and file status are examined here: binary
content, broken encodings and the language of a script by its first line are detected when a file is read.
"""

from __future__ import annotations

import operator
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime.codebase.files.file_entry import FileEntry, SkipReason
from runtime.codebase.files.folder_memory import (
    FolderMemory,
    Listing,
    Rules,
    RulesBelow,
    status_of,
)
from runtime.codebase.files.ignore_rules import (
    MAX_IGNORE_FILE_BYTES,
    MAX_PATTERN_BYTES,
    MAX_PATTERNS,
    IgnoreRules,
    parse_ignore_file,
    parse_pattern,
)
from runtime.codebase.files.regular_file import read_below
from runtime.codebase.language_registry import language_of
from runtime.errors import RepositoryError

EXCLUDED_FOLDERS: frozenset[str] = frozenset(
    {
        *(".git", ".hg", ".svn"),
        *("node_modules", "bower_components", ".venv", "venv", ".tox", ".nox", ".eggs"),
        *("__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".import_linter_cache"),
        *(".gradle", ".terraform", ".next", ".nuxt", ".cache", ".benchmarks", ".ipynb_checkpoints"),
        # What `jeeves init` writes, and agreements: no source of the project, and not to be found as such.
        ".code-intel",
    }
)
OUTPUT_FOLDERS: frozenset[str] = frozenset({"build", "dist", "target"})
_OF_GIT = frozenset({"HEAD", "objects", "refs", "config"})
_EXCLUDED_SUFFIXES = (".egg-info", ".dist-info")

_SECRET_NAME = re.compile(
    r"""(?:\.env(?:\..+)?|.+\.env|.+\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk)|id_(?:rsa|dsa|ecdsa|ed25519).*
    |\.netrc|_netrc|\.pypirc|\.npmrc|\.pgpass|\.htpasswd|\.git-credentials|\.dockercfg
    |credentials(?:\.(?:json|ya?ml|toml|ini|csv|txt))?|client_secrets?.*\.json|service[-_]account.*\.json
    |secrets?\.(?:json|ya?ml|toml|ini|env|txt))""",
    re.VERBOSE | re.IGNORECASE,
)
MAX_PATTERNS_OF_ALL = 100_000
MAX_NOTES = 50
_PATH = operator.attrgetter("path")
_TEMPLATE_SUFFIXES = (".example", ".sample", ".template", ".dist")


@dataclass(frozen=True, slots=True)
class WalkOptions:
    """Configures the exclusions. `excludes` are further patterns in `.gitignore` form; sizes are in bytes.

    `folders`: those that are listed, relative to the root; all if it is empty.
    """

    excludes: tuple[str, ...] = ()
    max_file_bytes: int = 1_000_000
    max_files: int = 200_000
    allow_secrets: bool = False
    folders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Walk:
    """Holds the files, ordered by path, and notes on folders, names and ignore files that could not be used."""

    entries: tuple[FileEntry, ...]
    notes: tuple[str, ...] = ()


def is_secret(path: str) -> bool:
    """Return True if the file's name indicates keys or passwords; templates such as `.env.example` do not count."""
    name = path.rpartition("/")[2]
    return _SECRET_NAME.fullmatch(name) is not None and not name.lower().endswith(_TEMPLATE_SUFFIXES)


def is_excluded_folder(name: str) -> bool:
    """Return True for the name of a folder that never holds source."""
    return name in EXCLUDED_FOLDERS or name.endswith(_EXCLUDED_SUFFIXES)


def resolve_root(root: Path) -> Path:
    """Return the root as an absolute path, links resolved. RepositoryError if it is not a readable folder."""
    try:
        is_folder = stat.S_ISDIR(root.stat().st_mode)
        resolved = root.resolve()
    except (FileNotFoundError, NotADirectoryError) as error:
        message = f"no folder at {root}; give the path of an existing repository"
        raise RepositoryError(message, path=str(root)) from error
    except (OSError, ValueError) as error:
        raise RepositoryError(f"the folder {root} cannot be reached: {error}", path=str(root)) from error
    if not is_folder:
        raise RepositoryError(f"{root} is a file, not a folder; give the folder that holds it", path=str(root))
    if not os.access(root, os.R_OK | os.X_OK):
        raise RepositoryError(f"the folder {root} cannot be read; check its permissions", path=str(root))
    return resolved


def unmoved_root(root: Path) -> Path:
    """Return the root, which was resolved when it was registered.

    RepositoryError if it, or a folder above it, is a link by now: a caller could be led to any folder of this machine.
    """
    found = resolve_root(root)
    if found != root:
        raise RepositoryError(
            f"{root} is, or lies below, a link to {found} now, which is another folder than the one that was named; "
            f"put the folder back, or name {found} itself",
            path=str(root),
            denied=True,
        )
    return found


def is_git_directory(folder: Path) -> bool:
    """Return True for a git directory (a `.git` folder or a bare repository), which holds no work tree."""
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()


def walk(root: Path, options: WalkOptions = WalkOptions(), memory: FolderMemory | None = None) -> Walk:
    """List every file under `root` that is not ignored, sorted by path; unchanged folders as `memory` has them.

    RepositoryError if the root cannot be used, is a git directory, or holds more than `options.max_files` files.
    """
    resolved = resolve_root(root)
    if is_git_directory(resolved):
        raise RepositoryError(
            f"{root} holds the data of git and no files of a work tree; clone it, or give the folder of its work tree",
            path=str(root),
        )
    walker = _Walker(resolved, options, memory)
    entries = walker.files()
    entries.sort(key=_PATH)
    return Walk(tuple(entries), _bounded(walker.notes))


class _Walker:
    def __init__(self, root: Path, options: WalkOptions, memory: FolderMemory | None) -> None:
        self._memory = memory
        self.notes: list[str] = []
        self._root = str(root)
        self._options = options
        excluded = (parse_pattern(each.encode("utf-8", "surrogateescape")) for each in options.excludes)
        self._extra = IgnoreRules(pattern for pattern in excluded if pattern is not None)
        self._below = tuple(f"{folder.removesuffix('/')}/" for folder in options.folders)
        if "./" in self._below:
            self._below = ()
        self._count = 0
        self._patterns = 0

    def files(self) -> list[FileEntry]:
        entries: list[FileEntry] = []
        seen: set[str] = set()
        pending: list[tuple[str, Rules]] = [("", ())]
        while pending:
            prefix, rules = pending.pop()
            seen.add(prefix)
            listing = self._listing(prefix, rules)
            pending.extend((path, listing.rules) for path in listing.folders)
            found = self._entries(listing.files)
            self._count_further(len(found))
            entries += found
        missing = [folder for folder in self._below if folder not in seen]
        self.notes.extend(f"{folder} is to be read, and is no folder here" for folder in missing)
        return entries

    def _entries(self, paths: Sequence[str]) -> list[FileEntry]:
        """Describe the files of one folder; those that are gone by now are left out."""
        if self._memory is None:
            described = [self._entry(path) for path in paths]
        else:
            known = self._memory.unchanged(self._root, paths)
            described = [entry or self._entry(path) for path, entry in zip(paths, known, strict=True)]
        return [entry for entry in described if entry is not None]

    def _listing(self, prefix: str, outer: Rules) -> Listing:
        if self._memory is None:
            return self._listed(prefix, outer)
        known = self._memory.listing(self._root, prefix, outer)
        if known is not None and self._patterns + known.patterns <= MAX_PATTERNS_OF_ALL:
            self._patterns += known.patterns
            return known
        folder, ignore_file = status_of(self._root, prefix), status_of(self._root, f"{prefix}.gitignore")
        noted = len(self.notes)
        listing = self._listed(prefix, outer)
        if len(self.notes) == noted:  # what is wrong with a folder is said each time
            self._memory.keep(prefix, folder, ignore_file, listing)
        return listing

    def _listed(self, prefix: str, outer: Rules) -> Listing:
        """List a folder: what is followed and shown of it, and the rules below it."""
        found = self._scan(prefix)
        if _is_no_source(prefix, {item.name for item in found}):
            return Listing((), (), outer)
        before = self._patterns
        rules = self._with_own_rules(prefix, outer, found)
        folders: list[str] = []
        files: list[str] = []
        for item in found:
            path = prefix + item.name
            if item.is_dir(follow_symlinks=False):
                if not self._leaves_out_folder(item, path, rules):
                    folders.append(path + "/")
            elif item.name not in EXCLUDED_FOLDERS and not self._ignored(path, rules):
                files.append(path)
        return Listing(tuple(folders), tuple(files), outer, rules, self._patterns - before)

    def _is_outside(self, path: str, *, is_folder: bool) -> bool:
        """Return whether a path lies outside of the folders that are listed; those on the way to them do not."""
        if not self._below:
            return False
        named = f"{path}/" if is_folder else path
        on_the_way = is_folder and any(folder.startswith(named) for folder in self._below)
        return not on_the_way and not named.startswith(self._below)

    def _scan(self, prefix: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(os.path.join(self._root, prefix)) as items:  # noqa: PTH118 - joined once per folder, hot
                found = list(items)
        except OSError as error:
            self.notes.append(f"{prefix or '.'} cannot be read: {error.strerror}")
            return []
        usable = [item for item in found if _is_usable_name(item.name)]
        if len(usable) < len(found):
            count = len(found) - len(usable)
            self.notes.append(f"{prefix or '.'} has {count} names that are no UTF-8 or hold a line break: left out")
        return usable

    def _with_own_rules(self, prefix: str, rules: Rules, found: list[os.DirEntry[str]]) -> Rules:
        if not any(item.name == ".gitignore" for item in found):
            return rules
        path = prefix + ".gitignore"
        try:
            content = read_below(Path(self._root), path, MAX_IGNORE_FILE_BYTES)
        except OSError as error:
            self.notes.append(f"{path} is not used: {error.strerror}")
            return rules
        patterns, too_long = parse_ignore_file(content)
        if too_long:
            self.notes.append(f"{path}: {too_long} patterns of more than {MAX_PATTERN_BYTES} bytes are not used")
        if len(patterns) > MAX_PATTERNS:
            self.notes.append(f"{path} is not used: it has {len(patterns)} patterns, at most {MAX_PATTERNS} are read")
            return rules
        if self._patterns + len(patterns) > MAX_PATTERNS_OF_ALL:
            self.notes.append(f"{path} is not used: the ignore files have more than {MAX_PATTERNS_OF_ALL} patterns")
            return rules
        self._patterns += len(patterns)
        return (*rules, RulesBelow(len(prefix.encode()), IgnoreRules(patterns)))

    def _leaves_out_folder(self, item: os.DirEntry[str], path: str, rules: Rules) -> bool:
        if is_excluded_folder(item.name):
            return True
        return self._ignored(path, rules, is_folder=True)

    def _ignored(self, path: str, rules: Rules, *, is_folder: bool = False) -> bool:
        if self._is_outside(path, is_folder=is_folder):
            return True
        written = path.encode()
        if self._options.excludes and self._extra.verdict(written, is_folder):
            return True
        for skipped, each in reversed(rules):
            verdict = each.verdict(written[skipped:], is_folder)
            if verdict is not None:
                return verdict
        return False

    def _entry(self, path: str) -> FileEntry | None:
        try:
            status = os.lstat(f"{self._root}/{path}")
        except FileNotFoundError:
            return None
        except OSError:
            return FileEntry(path, 0, 0, None, "unreadable")
        if stat.S_ISLNK(status.st_mode):
            return self._link(path)
        reason = self._skip_reason(path, status)
        entry = FileEntry(path, status.st_size, status.st_mtime_ns, language_of(path), reason)
        if self._memory is not None and reason != "not_a_file":
            self._memory.keep_file(entry)
        return entry

    def _skip_reason(self, path: str, status: os.stat_result) -> SkipReason | None:
        if not stat.S_ISREG(status.st_mode):
            return "not_a_file"
        if not self._options.allow_secrets and is_secret(path):
            return "secret"
        return "too_large" if status.st_size > self._options.max_file_bytes else None

    def _link(self, path: str) -> FileEntry:
        try:
            target = Path(self._root, path).resolve(strict=True)
        except (OSError, RuntimeError):
            return FileEntry(path, 0, 0, None, "unreadable")
        inside = target.is_relative_to(self._root)
        return FileEntry(path, 0, 0, None, "symlink_duplicate" if inside else "symlink_outside")

    def _count_further(self, files: int) -> None:
        self._count += files
        if self._count > self._options.max_files:
            raise RepositoryError(
                f"{self._root} holds more than {self._options.max_files} files; "
                "choose a folder below it, exclude some, or raise code_index.max_files",
                path=self._root,
                count=self._count,
                limit=self._options.max_files,
            )


def _bounded(notes: list[str]) -> tuple[str, ...]:
    further = len(notes) - MAX_NOTES
    return (*notes[:MAX_NOTES], *([f"and {further} more of this kind"] if further > 0 else []))


def _is_no_source(prefix: str, names: set[str]) -> bool:
    """Return True for a virtual environment, a git directory, or a top-level build folder that is not a package."""
    if not prefix:
        return False
    if names >= _OF_GIT:
        return True
    return "pyvenv.cfg" in names or (prefix.rstrip("/") in OUTPUT_FOLDERS and "__init__.py" not in names)


def _is_usable_name(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return "\n" not in name
