"""Reads `.code-intel/config.json`: what a project says of its own index.

Whoever wrote the repository wrote this file. It can leave files out of the index and have them cut otherwise, and
nothing else: no folder outside of the repository can be named, links are not followed, numbers are bounded, and a file
that says anything unknown is refused.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

import msgspec

from runtime.codebase.files.ignore_rules import MAX_PATTERN_BYTES
from runtime.codebase.files.regular_file import read_below
from runtime.errors import RepositoryError

CONFIG_FILE = ".code-intel/config.json"
MAX_BYTES = 65_536
MAX_FOLDERS = 100
MAX_EXCLUDES = 1_000
MODEL = "all-MiniLM-L6-v2"

ChunkStrategy = Literal["syntax", "lines"]


class ProjectConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Holds what a project says of its index.

    `source_dirs`: the folders that are read, all if empty; `exclude_patterns`: in `.gitignore` form. `chunk_strategy`:
    cut along syntax, or into windows of lines; a chunk is at most `chunk_max_tokens` long, counted by characters.
    `sync_ttl_hours`: the age from which every file is compared by its content again.
    """

    source_dirs: Annotated[tuple[str, ...], msgspec.Meta(max_length=MAX_FOLDERS)] = ()
    exclude_patterns: Annotated[tuple[str, ...], msgspec.Meta(max_length=MAX_EXCLUDES)] = ()
    embedding_model: Literal["all-MiniLM-L6-v2", "none"] = "all-MiniLM-L6-v2"
    chunk_strategy: ChunkStrategy = "syntax"
    chunk_max_tokens: Annotated[int, msgspec.Meta(ge=32, le=512)] | None = None
    sync_ttl_hours: Annotated[float, msgspec.Meta(ge=0, le=8_760)] = 1.0
    sync_on_start: bool = True

    @property
    def chunking(self) -> str:
        """A name for how files are cut, which changes with it; empty where the project says nothing of it."""
        is_default = self.chunk_strategy == "syntax" and self.chunk_max_tokens is None
        return "" if is_default else f"{self.chunk_strategy}:{self.chunk_max_tokens}"


# What `jeeves init` writes: every key with its default, chunks of the size that the sentence model can take in.
STARTING = ProjectConfig(chunk_max_tokens=512)


def read_project_config(root: Path) -> ProjectConfig:
    """Return what a repository says of its index; the defaults where it says nothing.

    RepositoryError that names the file and the fault if it cannot be used.
    """
    try:
        content = read_below(root, CONFIG_FILE, MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return ProjectConfig()
    except OSError as error:
        raise _refused(root, f"it cannot be read: {error.strerror}") from error
    try:
        config = msgspec.json.decode(content, type=ProjectConfig)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise _refused(root, str(error)) from error
    for place, folder in enumerate(config.source_dirs):
        if (why := folder_problem(folder)) is not None:
            raise _refused(root, f"source_dirs[{place}]: {why}")
    for place, pattern in enumerate(config.exclude_patterns):
        if not pattern.strip() or len(pattern.encode("utf-8", "replace")) > MAX_PATTERN_BYTES or "\0" in pattern:
            problem = f"a pattern has 1 to {MAX_PATTERN_BYTES} bytes, and no zero byte"
            raise _refused(root, f"exclude_patterns[{place}]: {problem}")
    return config


def folder_problem(folder: str) -> str | None:
    """Return why a text names no folder of the repository; None where it may. `.` is the whole of it."""
    plain = folder.removesuffix("/")
    path = PurePosixPath(plain)
    if not plain or path.is_absolute() or plain != str(path) or ".." in path.parts or re.search(r"[\\\0\n]", plain):
        return f"{folder[:100]!r} is no folder below the repository; write it relative, with slashes, without '..'"
    return None


def _refused(root: Path, problem: str) -> RepositoryError:
    keys = ", ".join(ProjectConfig.__struct_fields__)
    return RepositoryError(f"{root / CONFIG_FILE}: {problem}; the keys are {keys}", path=str(root))
