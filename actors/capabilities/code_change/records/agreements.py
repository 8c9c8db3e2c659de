"""Records what finished changes agree on; exports and imports agreements and outcomes.

A change whose outcome is success makes an agreement: its request, and the symbols that its accepted evidence lies in.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from actors.capabilities.code_change.session.agreed_symbols import Evidence, accepted_evidence, proven_symbols
from actors.capabilities.code_change.store.agreement_files import (
    MAX_FILES,
    MAX_QUERY_CHARS,
    Agreement,
    agreement_of,
    delete_agreement,
    is_symbol,
    read_agreements,
    write_agreement,
)
from actors.capabilities.code_change.store.project_files import leave_out
from actors.capabilities.code_change.store.session_store import OutcomeRow, SessionStore
from runtime.codebase.files.consent import Consent
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.regular_file import read_below
from runtime.codebase.files.source_text import from_bytes, is_binary
from runtime.codebase.git.git_writer import GitWriter
from runtime.codebase.language_registry import language_of, language_of_content
from runtime.codebase.parsing.parse import parse
from runtime.codebase.parsing.syntax import CALLABLE_KINDS, CONTAINER_KINDS, Symbol
from runtime.contracts.session_state import SessionState
from runtime.errors import InputError, RepositoryError
from runtime.primitives.text_files import read_bytes_file

MAX_SOURCE_BYTES = 1_000_000
MAX_IMPORT_BYTES = 32_000_000
_NO_SYMBOLS = frozenset({"module", "key", "section", "namespace"})
_WHOLE = (CONTAINER_KINDS | CALLABLE_KINDS) - _NO_SYMBOLS

_Text = Annotated[str, msgspec.Meta(max_length=4_000)]
_Names = Annotated[tuple[_Text, ...], msgspec.Meta(max_length=1_000)]


class CarriedOutcome(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Holds what became of a change as it is carried to another machine."""

    session_id: Annotated[str, msgspec.Meta(pattern=r"^c-[0-9A-Za-z-]{1,60}\Z")]
    verdict: Literal["success", "failure", "partial"]
    reason: _Text
    at_ms: Annotated[int, msgspec.Meta(ge=0)]
    query: Annotated[str, msgspec.Meta(max_length=20_000)]
    phase: Annotated[str, msgspec.Meta(max_length=100)] = ""
    files: _Names = ()
    symbols: _Names = ()


class Carried(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Holds a file that `jeeves outcome --export` writes."""

    version: Literal[1]
    agreements: Annotated[tuple[Agreement, ...], msgspec.Meta(max_length=MAX_FILES)] = ()
    outcomes: Annotated[tuple[CarriedOutcome, ...], msgspec.Meta(max_length=10_000)] = ()


class Counted(NamedTuple):
    """Counts what was carried; `left_out`: agreements that nobody allowed, or outcomes that are known already."""

    agreements: int
    outcomes: int
    left_out: int


def record_agreement(state: SessionState, consent: Consent) -> str:
    """Write the agreement of a change that went well, and return what came of it, as a sentence."""
    root = Path(state.repository)
    if not state.is_over or state.outcome == "discarded":
        return f"session {state.session_id} is not finished, so it makes no agreement"
    changed = [name for place in accepted_evidence(state) for name in _names_at(state, place)]
    framed = state.frame.symbols if state.frame is not None else ()
    made = agreement_of(state.query, proven_symbols(list(dict.fromkeys(changed)), framed))
    if made is None:
        if len(state.query) > MAX_QUERY_CHARS:
            return f"the request has {len(state.query)} characters, and agreements hold at most {MAX_QUERY_CHARS}"
        return "the change proved no symbol, so there is nothing to agree on"
    _keep(root, [made], consent)
    return f"agreed on {', '.join(made.symbols)} in {made.file}"


def withdraw_agreement(state: SessionState) -> str:
    """Delete the agreement of a request whose change turned out not to be a success; return what came of it."""
    root = Path(state.repository)
    made = agreement_of(state.query, ("anything",))
    if made is None or made.file not in read_agreements(root).files:
        return ""
    delete_agreement(root, made)
    return f"the agreement in {made.file} was withdrawn"


def export_records(root: Path, store: SessionStore, consent: Consent, target: Path) -> Counted:
    """Write the agreements that are allowed, and all outcomes, to a new file. Raises InputError."""
    allowed = consent.allowed(root)
    files = read_agreements(root).files
    own = [each.agreement for path, each in files.items() if allowed.get(path) == each.sha256]
    rows = store.outcomes(str(root), 10_000)
    outcomes = [{name: getattr(row, name) for name in CarriedOutcome.__struct_fields__} for row in rows]
    document = {"version": 1, "agreements": own, "outcomes": outcomes}
    try:
        with target.open("xb") as out:
            out.write(msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n")
    except FileExistsError as error:
        raise InputError(f"{target} is there already; name a new file") from error
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}") from error
    return Counted(len(own), len(outcomes), len(files) - len(own))


def import_records(root: Path, store: SessionStore, consent: Consent, source: Path) -> Counted:
    """Add the agreements and outcomes of a file; they are allowed by this. Raises InputError, and adds nothing then."""
    carried = _carried(source)
    _keep(root, carried.agreements, consent)
    new = [each for each in carried.outcomes if store.outcome_of(each.session_id) is None]
    for each in new:
        store.record_outcome(OutcomeRow(scope=str(root), **msgspec.structs.asdict(each)))
    return Counted(len(carried.agreements), len(new), len(carried.outcomes) - len(new))


def _carried(source: Path) -> Carried:
    try:
        return msgspec.json.decode(read_bytes_file(source, MAX_IMPORT_BYTES), type=Carried)
    except OSError as error:
        raise InputError(f"{source} cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InputError(f"{source} is no file of `jeeves outcome --export`: {error}") from error


def _keep(root: Path, agreements: Any, consent: Consent) -> None:
    written = {each.file: write_agreement(root, each).sha256 for each in agreements}
    if not written:
        return
    try:
        leave_out(root, list(written))
        consent.add(root, written)
    except OSError as error:
        raise InputError(f"{error.filename or root} cannot be written: {error.strerror}") from error


def _names_at(state: SessionState, place: Evidence) -> list[str]:
    """Return the definitions that evidence lies in or holds; none for files other than source, or that are gone."""
    if kind_of_path(place.file) not in {"source", "declaration"}:
        return []
    try:
        source = from_bytes(data) if not is_binary(data := _content(state, place.file)) else None
    except (OSError, RepositoryError):
        return []
    if source is None:
        return []
    language = language_of_content(place.file, language_of(place.file), source.text)
    names = [each.qualified_name for each in defined_at(parse(source, place.file, language).symbols, place)]
    return [name for name in names if is_symbol(name)]


def defined_at(symbols: Sequence[Symbol], place: Evidence) -> list[Symbol]:
    """Return the innermost definition around the first line of evidence, and the outermost ones that begin in it."""
    usual = [each for each in symbols if each.kind not in _NO_SYMBOLS]
    around = [each for each in usual if each.start_line <= place.start_line <= each.end_line]
    inner = min(around, key=lambda each: (each.end_line - each.start_line, -each.start_line), default=None)
    inside = [each for each in usual if each.kind in _WHOLE and place.start_line <= each.start_line <= place.end_line]
    outermost: list[Symbol] = []
    for each in sorted(inside, key=lambda each: (each.start_line, -each.end_line)):
        if not outermost or each.start_line > outermost[-1].end_line:
            outermost.append(each)
    return list(dict.fromkeys((*([inner] if inner is not None else ()), *outermost)))


def _content(state: SessionState, file: str) -> bytes:
    """Return a file as the change left it: in its last commit, or in its folder where nothing was committed."""
    assert state.place is not None
    if not state.place.head:
        return read_below(Path(state.place.folder), file, MAX_SOURCE_BYTES)
    with GitWriter(Path(state.repository)) as git:
        if int(git.run("cat-file", "-s", f"{state.place.head}:{file}")) > MAX_SOURCE_BYTES:
            return b""
        return git.run("cat-file", "blob", f"{state.place.head}:{file}").encode("utf-8", "surrogateescape")
