"""Finds what a repository or folder says of its purpose in its README, metadata, code or documents."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from runtime.codebase.codebase import Codebase
from runtime.codebase.files.source_text import SourceText
from runtime.codebase.language_registry import all_words, language_at
from runtime.codebase.overview.descriptions import of_file, of_folder, readmes_of, says_something
from runtime.codebase.overview.document_purpose import Quoted, purpose_in
from runtime.codebase.overview.entry_points import is_script_path
from runtime.codebase.overview.folder_files import FolderFiles, Placed, in_folder
from runtime.codebase.overview.manifests import is_manifest, read_manifest

MAX_PURPOSES = 2
MAX_HEADS = 10
LEAST_NAME_CHARS, MAX_NAME_CHARS = 3, 80
_NO_CODE = frozenset({"module", "section", "key"})
SAME_WORDS = 0.7
_INTRODUCING = re.compile(
    r"^(?:docs?/)(?:[\w-]+/)?(?:index|readme|intro(?:duction)?|overview|about)\.(?:md|mdx|rst|adoc|txt)$", re.IGNORECASE
)
_ENDINGS = (".js", ".go", ".rs", ".rb", ".net", "-rs", "-js", "-py")


def purposes_of(files: FolderFiles) -> list[Placed]:
    """Return quoted sentences that say what a folder is for, at most two.

    A README's sentence that names the thing stands alone; any other is followed by the description in the metadata or
    at the head of the code.
    """
    found: list[Placed] = []
    names = names_of(files)
    for path in readmes_of(files.place, files.paths):
        said = purpose_in(files.lines(path), names)
        if said is not None:
            found.append(_placed(path, said))
            if said.is_named:
                return found
            break
    for source in (_in_metadata, _in_code):
        # Beside the words of a README, a header that is only called as the whole is tells of itself.
        said_by = (one for one in source(files) if not found or language_at(one.file).family != "c")
        told = next(said_by, None)
        if (
            told is not None
            and len(found) < MAX_PURPOSES
            and not any(_same_words(told.text, one.text) for one in found)
        ):
            found.append(told)
    return found or list(_in_documents(files, names))[:1]


def project_names(codebase: Codebase) -> dict[str, bool]:
    """Return the names by which a question may mean a whole repository, and whether a definition bears it as well.

    The names are in lower case; so spelt, or as a definition of that name is.
    """
    root = [file.path for file in codebase.files() if file.is_readable and "/" not in file.path]
    declared = [read_manifest(path, source.lines).name for path in root if (source := _source(codebase, path))]
    folder = codebase.root.name
    whole = {folder, folder.rpartition("+")[2], *declared, *(name.rpartition("/")[2] for name in declared)}
    names = {name.lower(): False for name in sorted(whole) if LEAST_NAME_CHARS <= len(name) <= MAX_NAME_CHARS}
    spelt = {one.name for name in names for one in codebase.index.symbols_of_name(name) if one.kind not in _NO_CODE}
    return names | dict.fromkeys(sorted(spelt), True)


def _source(codebase: Codebase, path: str) -> SourceText | None:
    return codebase.try_source(path) if is_manifest(path) else None


def names_of(files: FolderFiles) -> set[str]:
    """Return what a folder is called: by its metadata, and by its own name."""
    folder = files.codebase.root.name if files.place == "." else posixpath.basename(files.place)
    names = {folder, *(manifest.name for manifest in files.manifests_of(files.place))}
    names |= {name.replace("+", "/") for name in names} | {re.split(r"[/+]", name)[-1] for name in names}
    names |= {name.removesuffix(ending) for name in names for ending in _ENDINGS}
    return {name for name in names if len(name) > 1}


def _in_metadata(files: FolderFiles) -> Iterator[Placed]:
    for manifest in files.manifests_of(files.place):
        said = manifest.description
        if said is not None and says_something(said.text, ""):
            yield _placed(manifest.path, said)


def _in_code(files: FolderFiles) -> Iterator[Placed]:
    """Yield the documentation of the files that speak for the folder: of a package's head, or of its namesake."""
    if files.place != ".":
        told = of_folder(files.place, (), in_folder(files.place, files.sizes), files.read, files.languages.get)
        if told is not None:
            yield _placed(told.file, told.said)
        return
    names = {name.lower() for name in names_of(files)}
    heads = [
        path
        for path in files.sizes
        # What a program says at its head is for who runs it.
        if not is_script_path(path)
        and (
            posixpath.basename(path) in all_words("head_files")
            or posixpath.splitext(posixpath.basename(path))[0].lower() in names
            or len(files.sizes) == 1
        )
    ]
    for path in sorted(heads, key=lambda path: (path.count("/"), path))[:MAX_HEADS]:
        if (found := of_file(path, files.read, files.languages.get)) is not None:
            yield _placed(found.file, found.said)


def _in_documents(files: FolderFiles, names: set[str]) -> Iterator[Placed]:
    for path in files.paths:
        if _INTRODUCING.match(path[len(files.prefix) :]):
            said = purpose_in(files.lines(path), names)
            if said is not None:
                yield _placed(path, said)


def _placed(path: str, said: Quoted) -> Placed:
    return Placed(said.text, path, said.start_line, said.end_line)


def _same_words(one: str, other: str) -> bool:
    """Return whether most words of the shorter text are in the other."""
    first, second = (set(re.findall(r"\w{3,}", text.lower())) for text in (one, other))
    return len(first & second) >= SAME_WORDS * max(1, min(len(first), len(second)))
