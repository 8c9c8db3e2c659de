"""Reads and writes `.code-intel/context.yml`: which documents there are, and what each is about.

The file is the repository's: paths lie below it, links are not followed, and whatever is unknown or too large is
refused. `summary`, its last part, is written here; what stands above is kept as a person wrote it.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Annotated

import msgspec
import yaml

from runtime.codebase.files.project_config import folder_problem
from runtime.codebase.files.regular_file import read_below, replace_below
from runtime.errors import DocumentFaults, InputError
from runtime.primitives.yaml_documents import parse_yaml

CONTEXT_FILE = ".code-intel/context.yml"
MAX_BYTES = 262_144
MAX_DOCUMENTS = 200
MAX_TEXT_CHARS = 300
MAX_PATH_CHARS = 500

# What `jeeves init` writes.
STARTING = """\
# What `update_context` summarises: documents, and files in folders that fit one of the patterns.
sources: [README.md, CLAUDE.md, AGENTS.md, CONTRIBUTING.md, docs]
patterns: ["*.md", "*.rst", "*.txt"]

# Whether a change begins with the project's documents; false is in force after `jeeves allow`.
doc_research:
  enabled: true
  docs_path: [docs]
  default_prompts: [document_research.md]

# Written by `update_context`.
summary: []
"""

_SUMMARY = re.compile(r"^summary:.*?(?=^[^\s#-]|\Z)", re.MULTILINE | re.DOTALL)
_PROMPT = r"^[a-z][a-z0-9_]{0,60}\.md\Z"

_Text = Annotated[str, msgspec.Meta(max_length=MAX_TEXT_CHARS)]
_Paths = Annotated[tuple[Annotated[str, msgspec.Meta(max_length=MAX_PATH_CHARS)], ...], msgspec.Meta(max_length=100)]


class DocResearch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Says whether and where documents are looked for, and which of our guides are told then."""

    enabled: bool = True
    docs_path: _Paths = ("docs",)
    default_prompts: Annotated[
        tuple[Annotated[str, msgspec.Meta(pattern=_PROMPT)], ...], msgspec.Meta(max_length=10)
    ] = ("document_research.md",)


class Summarised(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Holds what a document is about: its title, its first sentences, and the SHA-256 of what was summarised."""

    file: Annotated[str, msgspec.Meta(max_length=MAX_PATH_CHARS)]
    sha256: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
    title: _Text = ""
    about: _Text = ""


class ProjectContext(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Holds the file. `patterns` apply to files in the folders among `sources`; `summary` is cached."""

    sources: _Paths = ()
    patterns: Annotated[
        tuple[Annotated[str, msgspec.Meta(min_length=1, max_length=200)], ...], msgspec.Meta(max_length=50)
    ] = ("*.md",)
    doc_research: DocResearch = DocResearch()
    summary: Annotated[tuple[Summarised, ...], msgspec.Meta(max_length=MAX_DOCUMENTS)] = ()

    @property
    def digest(self) -> str:
        """The SHA-256 of what a person decided, without the summary, by which it is allowed."""
        decided = msgspec.structs.replace(self, summary=())
        return hashlib.sha256(msgspec.json.encode(decided)).hexdigest()


def read_context(root: Path) -> ProjectContext | None:
    """Return what a repository says of its documents; None if it has no such file. Raises InputError."""
    text = _text(root)
    return None if text is None else _parsed(text)


def write_summary(root: Path, summary: tuple[Summarised, ...]) -> None:
    """Put a summary in the place of the last one; everything else stays as it is. Raises InputError."""
    text = _text(root)
    if text is None:
        raise InputError(f"there is no {CONTEXT_FILE}; `jeeves init` writes one")
    rows = [msgspec.to_builtins(each) for each in summary]
    written = yaml.safe_dump({"summary": rows}, sort_keys=False, allow_unicode=True, width=110)
    kept = _SUMMARY.sub("", text).rstrip("\n")
    fresh = f"{kept}\n{written}"
    if _parsed(fresh) != msgspec.structs.replace(_parsed(text), summary=summary):
        raise InputError(f"{CONTEXT_FILE}: write `summary:` at the beginning of a line of its own, in block style")
    try:
        replace_below(root, CONTEXT_FILE, fresh.encode())
    except OSError as error:
        raise InputError(f"{root / CONTEXT_FILE} cannot be written: {error.strerror}") from error


def _text(root: Path) -> str | None:
    try:
        return read_below(root, CONTEXT_FILE, MAX_BYTES).decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InputError(f"{root / CONTEXT_FILE} cannot be read: {error.strerror or error}") from error
    except UnicodeError as error:
        raise InputError(f"{root / CONTEXT_FILE} cannot be read: it is no text in UTF-8") from error


def _parsed(text: str) -> ProjectContext:
    try:
        context = msgspec.convert(parse_yaml(text, CONTEXT_FILE).data, ProjectContext)
    except DocumentFaults as error:
        raise InputError(error.message) from error
    except msgspec.ValidationError as error:
        raise InputError(f"{CONTEXT_FILE}: {error}; the keys are sources, patterns, doc_research, summary") from error
    named = {"sources": context.sources, "doc_research.docs_path": context.doc_research.docs_path}
    for key, paths in named.items():
        for place, path in enumerate(paths):
            if (why := folder_problem(path)) is not None:
                raise InputError(f"{CONTEXT_FILE}: {key}[{place}]: {why}")
    return context
