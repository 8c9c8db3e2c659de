"""Finds the sentence in which a part of a repository describes itself, and the lines that hold it.

Of a folder that is its own README, the description in its metadata, or the documentation of the file that speaks for
it; of a file the documentation at its head. A sentence that only repeats the part's name describes nothing.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from runtime.codebase.language_registry import all_words
from runtime.codebase.overview.document_purpose import MAX_QUOTE_CHARS, Quoted, purpose_in
from runtime.codebase.overview.manifests import is_manifest, read_manifest
from runtime.codebase.parsing.head_docs import head_doc
from runtime.codebase.search.prose.sentences import holds

MAX_HEAD_FILES = 6
MAX_LINES_ABOVE = 60
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`(\"'])|(?<=[。！？])")
# What an interpreter or editor reads in a comment.
_MAGIC = re.compile(
    r"\W*(?:(?:frozen_string_literal|warn_indent|encoding|coding|typed|vim?|ex|mode|sourceURL|rubocop|swiftlint|ktlint"
    r"|shellcheck|pylint|flake8|isort|mypy)\s*[:=]|no(?:qa|lint)\b|(?:eslint|tslint|stylelint|prettier|biome|istanbul"
    r"|clang-format)[-\s](?:disable|enable|ignore|off|on)\b)",
    re.IGNORECASE,
)
_TAG = re.compile(r"</?[a-zA-Z][\w-]*\s*/?>")
# What points elsewhere, annotates, or is a title.
_NO_SENTENCE = re.compile(
    r"\W*(?:see|todo|fixme|note|deprecated|creat\w+ (?:on|by|at))\b|[@:#]|\\\w|\w+:\s*\S+$", re.IGNORECASE
)
_DOC_TAG = re.compile(r"\s@(?:api|internal|example|since|author|param|returns?|see|version|date|throws)\b")
_BRIEF = re.compile(r"^\s*[@\\]brief\s+")
_ADDRESS = re.compile(r"\bhttps?://\S+")
_RULE = re.compile(r"[=\-~^*#+_.\s]{3,}$")
_WORD = re.compile(r"[^\W\d_]+")
_GENERIC = frozenset(
    {
        *("module", "package", "the", "this", "an", "of", "for", "and", "init", "file", "files", "main", "code"),
        *("source", "implementation", "implements", "index", "contains", "related", "stuff", "things", "class"),
        *("classes", "function", "functions", "lib", "library"),
    }
)
_README = re.compile(r"readme(?:\.(?:md|markdown|rst|txt|adoc|org|mkd))?", re.IGNORECASE)
_SPEAKS_FOR_FOLDER = frozenset({"package-info.java", "doc.go", "mod.rs", "lib.rs", "index.md", "main.rs"})

Read = Callable[[str], Sequence[str] | None]
LanguageOf = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Described:
    """Holds a quoted description and the file that it stands in."""

    file: str
    said: Quoted


def readmes_of(folder: str, paths: Iterable[str]) -> list[str]:
    """Return the READMEs of a folder: those directly in it, the usual one first, then those in `.github`."""
    prefix = "" if folder == "." else f"{folder}/"
    below = [path for path in paths if path.startswith(prefix)]
    found = [path for path in below if _README.fullmatch(path[len(prefix) :].removeprefix(".github/"))]
    order = ("md", "rst", "markdown", "adoc", "txt", "readme")
    ranks = {path: path.rpartition(".")[2].lower() for path in found}
    return sorted(
        found,
        key=lambda path: (
            path.startswith(f"{prefix}.github/"),
            order.index(ranks[path]) if ranks[path] in order else len(order),
            path,
        ),
    )


def of_folder(
    folder: str, documents: Sequence[str], files: Sequence[str], read: Read, language_of: LanguageOf
) -> Described | None:
    """Return what a folder says of itself; `documents`: its READMEs and metadata files, `files`: its source files."""
    name = posixpath.basename(folder)
    for path in documents:
        lines = read(path)
        if lines is None:
            continue
        told = read_manifest(path, lines).description if is_manifest(path) else purpose_in(lines, {name})
        if told is not None and says_something(told.text, name):
            return Described(path, told)
    for path in _heads(folder, files):
        if (found := of_file(path, read, language_of)) is not None:
            return found
    return None


def of_file(path: str, read: Read, language_of: LanguageOf) -> Described | None:
    """Return the first sentence of the documentation at the head of a file."""
    lines, language = read(path), language_of(path)
    told = head_doc(lines, language) if lines is not None and language else None
    if lines is None or told is None:
        return None
    name = posixpath.splitext(posixpath.basename(path))[0]
    name = posixpath.basename(posixpath.dirname(path)) if name in {"__init__", "index", "mod", "doc"} else name
    for sentence in _sentences(told.text):
        if not says_something(sentence, name):
            continue
        said = _located(lines, told.start_line, told.end_line, sentence)
        if said is not None:
            return Described(path, said)
    return None


def of_definition(lines: Sequence[str], first: int, last: int, docstring: str, name: str) -> Quoted | None:
    """Return the first sentence of a definition's documentation that is found in or above its first lines."""
    for sentence in _sentences(docstring):
        if says_something(sentence, name):
            start, end = max(1, first - MAX_LINES_ABOVE), min(len(lines), last, first + MAX_LINES_ABOVE)
            return _located(lines, start, end, sentence)
    return None


def says_something(text: str, name: str) -> bool:
    """Return whether a sentence has a word beside the part's own name, addresses and words for any code."""
    text = _ADDRESS.sub("", text)
    own = {word.lower() for word in _WORD.findall(name.replace("_", " "))}
    words = {word.lower() for word in _WORD.findall(text.replace("_", " ")) if len(word) > 1}
    is_wide = any(character > "\u2e80" for character in text)
    return is_wide or (len(text.split()) > 1 and len(words - own - _GENERIC) > 0)


def _heads(folder: str, files: Sequence[str]) -> list[str]:
    """Return the files that may speak for a folder: by their names, then by its name, then any Go or Java package's."""
    known = all_words("head_files") | _SPEAKS_FOR_FOLDER
    name = posixpath.basename(folder)
    own = [path for path in files if posixpath.dirname(path) == folder and posixpath.basename(path) in known]
    named = [path for path in files if posixpath.splitext(posixpath.basename(path))[0] == name and path not in own]
    beside = [path for path in named if posixpath.dirname(path) in (folder, posixpath.dirname(folder))]
    rest = [path for path in files if posixpath.dirname(path) == folder and path.endswith(".go")]
    return list(dict.fromkeys((*own, *beside, *rest)))[:MAX_HEAD_FILES]


def _sentences(text: str) -> list[str]:
    """Return the sentences of a comment's first two paragraphs, without titles that a rule underlines."""
    found: list[str] = []
    for block in [block for block in re.split(r"\n\s*\n", _TAG.sub("\n\n", text.strip())) if block.strip()][:3]:
        told = (_BRIEF.sub("", line) for line in block.split("\n"))
        lines = [line for line in told if not line.lstrip().startswith(("#", "@"))]
        kept = [
            line
            for place, line in enumerate(lines)
            if not _RULE.match(line)
            and not _MAGIC.match(line)
            and not (place + 1 < len(lines) and _RULE.match(lines[place + 1]))
        ]
        flat = _DOC_TAG.split(" ".join(" ".join(kept).split()), maxsplit=1)[0]
        found += [part.strip() for part in _SENTENCE_END.split(flat) if part.strip()]
    usable = [one for one in found if len(one) <= MAX_QUOTE_CHARS and not one.endswith((":", "?"))]
    return [one for one in usable if not _NO_SENTENCE.match(one)][:4]


def _located(lines: Sequence[str], first: int, last: int, sentence: str) -> Quoted | None:
    """Return a sentence with the fewest lines that hold it; None where none of the given ones do."""
    opening = sentence.split()[0]
    for start in range(last, first - 1, -1):
        if opening in lines[start - 1] and holds(lines[start - 1 : last], sentence):
            ends = (end for end in range(start, last + 1) if holds(lines[start - 1 : end], sentence))
            return Quoted(sentence, start, next(ends))
    return None
