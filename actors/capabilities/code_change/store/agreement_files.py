"""Reads and writes agreements: small files that say which symbols a request turned out to mean.

Each lies in `.code-intel/agreements/`, named by its request, so that a team may commit them. Whoever wrote one is not
trusted: files are bounded, links are not followed, and what does not have exactly this form is left out and counted.
An agreement names symbols, never paths; it is compared and looked up, and its text is told to nobody.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from runtime.codebase.files.regular_file import names_below, read_below, remove_below, replace_below
from runtime.errors import InputError

FOLDER = ".code-intel/agreements"
MAX_FILES = 1_000
MAX_FILE_BYTES = 16_384
MAX_QUERY_CHARS = 2_000
MAX_SYMBOLS = 20
MAX_SYMBOL_CHARS = 200
MAX_NAMED = 20
# No blanks, no separators of paths, no control characters: a qualified name of any of the languages.
SYMBOL = r"^[^\s/\\\x00-\x1f\x7f.\-][^\s/\\\x00-\x1f\x7f]*\Z"

Symbol = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_SYMBOL_CHARS, pattern=SYMBOL)]


class Agreement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Pairs a request in plain words with the qualified names of the symbols that it turned out to mean."""

    query: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_QUERY_CHARS)]
    symbols: Annotated[tuple[Symbol, ...], msgspec.Meta(min_length=1, max_length=MAX_SYMBOLS)]
    version: Literal[1] = 1

    @property
    def key(self) -> str:
        """The key of the request: the same for requests that differ in case and white space alone."""
        return hashlib.sha256(normal(self.query).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @property
    def file(self) -> str:
        """The path of its file, from the top of the repository."""
        return f"{FOLDER}/{self.key}.json"


class AgreementFile(msgspec.Struct, frozen=True):
    """Holds an agreement as it was found, with the SHA-256 of its file's content."""

    agreement: Agreement
    sha256: str


class Agreements(msgspec.Struct, frozen=True):
    """Holds the agreements of a repository by the path of their file; `refused`: path → what is wrong with it."""

    files: dict[str, AgreementFile] = {}
    refused: dict[str, str] = {}


def normal(query: str) -> str:
    """Return a request without its differences in case and white space."""
    return " ".join(query.split()).casefold()


def is_symbol(name: str) -> bool:
    """Return whether a text can be the name of a symbol in an agreement."""
    return len(name) <= MAX_SYMBOL_CHARS and re.fullmatch(SYMBOL, name) is not None


def read_agreements(root: Path) -> Agreements:
    """Return the agreements of a repository; what is no agreement is refused by name, at most 20 of them."""
    files: dict[str, AgreementFile] = {}
    refused: dict[str, str] = {}
    try:
        names = names_below(root, FOLDER, MAX_FILES)
    except OSError as error:
        return Agreements({}, {FOLDER: str(error.strerror)})
    for name in names:
        path = f"{FOLDER}/{name}"
        try:
            files[path] = _read(root, path)
        except (OSError, ValueError, InputError) as error:
            if len(refused) < MAX_NAMED:
                refused[path] = str(error)
    return Agreements(files, refused)


def _read(root: Path, path: str) -> AgreementFile:
    content = read_below(root, path, MAX_FILE_BYTES)
    agreement = parse_agreement(content)
    if agreement.file != path:
        raise InputError(f"its name is not that of its request; it should be {agreement.file}")
    return AgreementFile(agreement, hashlib.sha256(content).hexdigest())


def parse_agreement(content: bytes) -> Agreement:
    """Return the agreement in a file's content. Raises InputError for anything else."""
    try:
        return msgspec.json.decode(content, type=Agreement)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InputError(f"it is no agreement: {error}") from error


def agreement_of(query: str, symbols: Iterable[str]) -> Agreement | None:
    """Return the agreement of a request and the symbols that proved right; None where nothing can be agreed on."""
    named = tuple(dict.fromkeys(name for name in symbols if is_symbol(name)))[:MAX_SYMBOLS]
    text = query.strip()
    if not named or not text or len(text) > MAX_QUERY_CHARS:
        return None
    return Agreement(text, named)


def write_agreement(root: Path, agreement: Agreement) -> AgreementFile:
    """Write an agreement in place of an earlier one for the same request. Raises InputError where that cannot be."""
    content = msgspec.json.format(msgspec.json.encode(agreement), indent=2) + b"\n"
    known = read_agreements(root).files
    if agreement.file not in known and len(known) >= MAX_FILES:
        raise InputError(
            f"{root / FOLDER} holds {len(known)} agreements already, at most {MAX_FILES} are read; delete some"
        )
    try:
        replace_below(root, agreement.file, content)
    except OSError as error:
        raise InputError(f"{root / agreement.file} cannot be written: {error.strerror}") from error
    return AgreementFile(agreement, hashlib.sha256(content).hexdigest())


def delete_agreement(root: Path, agreement: Agreement) -> None:
    """Delete the file of an agreement, if there is one. Raises InputError where that cannot be."""
    try:
        remove_below(root, agreement.file)
    except OSError as error:
        raise InputError(f"{root / agreement.file} cannot be deleted: {error.strerror}") from error
