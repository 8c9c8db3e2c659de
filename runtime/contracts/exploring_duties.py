"""Holds the rules of the duties of phases that only look, from documents to impact. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from runtime.contracts.contract import Confidence, Contract
from runtime.contracts.observations import MAX_NAMED, Observed, Outcome
from runtime.contracts.payloads import says_something
from runtime.contracts.quotes import is_quoted
from runtime.contracts.session_state import Frame, Rule, SessionState, Slot
from runtime.contracts.vague_findings import VAGUE, vague_findings

SLOTS = (
    "action_type",
    "scope",
    "constraints",
    "target_feature",
    "trigger_condition",
    "observed_issue",
    "desired_action",
)
# Of a file that counts as read: listings show the line of each definition.
LEAST_LINES = 3
MAX_SYMBOL_CHARS = 200
MAX_SHOWN_CHARS = 60
UNSOUGHT = (
    "none is named, and no tool of this server looked for any in this phase; call search_files (`**/*.md`) or "
    "search_text, read what binds this change, then submit. That there is none is fine"
)
_DOCUMENTS = (".md", ".rst", ".txt", ".adoc", ".html")
# Names of code count by their parts: `reset_password`, `PasswordForm`.
_QUERY_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PLACE = re.compile(r"(?P<file>[\w@+./-]*[\w@+-]):(?P<line>\d{1,9})")


def rules_found(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    """Note the rules that documents hold; each must have been shown."""
    found = tuple(Rule(entry["rule"], entry["source"]) for entry in payload.get("mandatory_rules") or ())
    looked = any(use.visit == state.visit and use.kind for use in state.uses)
    if not payload["documents_reviewed"] and not looked:
        return Outcome(state, [f"documents_reviewed: {UNSOUGHT}"])
    unread = [file for file in payload["documents_reviewed"] if file not in state.shown]
    problems = [f"documents_reviewed: no tool of this session showed '{file}'" for file in unread[:MAX_NAMED]]
    foreign = [rule.source for rule in found if rule.source not in payload["documents_reviewed"]]
    problems += [f"mandatory_rules: '{source}' is not among documents_reviewed" for source in foreign[:MAX_NAMED]]
    return Outcome(state.with_(rules=found), problems)


def query_framed(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    """Note the slots of the query that are quoted from it, and the symbols that are like it."""
    slots: dict[str, Slot] = {}
    dropped: list[str] = []
    problems: list[str] = []
    for name in SLOTS:
        given = payload.get(name)
        if given is None:
            continue
        if is_quoted(given["quote"], state.query):
            slots[name] = Slot(given["value"], given["quote"])
        elif contract.phases[state.phase].expected_payload[name].required:
            problems.append(f"{name}.quote: these words are not in the query; copy them from it, whole words")
        else:
            dropped.append(f"{name}: its quote is not in the query")
    symbols: list[str] = []
    bands: dict[str, str] = {}
    for entry in payload.get("target_symbols") or ():
        symbol = entry["value"]
        shown = symbol if len(symbol) <= MAX_SHOWN_CHARS else f"{symbol[:MAX_SHOWN_CHARS]}…"
        if len(symbol) > MAX_SYMBOL_CHARS:
            dropped.append(f"target_symbols '{shown}': {len(symbol)} characters, a name has at most {MAX_SYMBOL_CHARS}")
            continue
        bands[symbol] = band_of(contract, observed.similarities.get(symbol))
        if not is_quoted(entry["quote"], state.query):
            dropped.append(f"target_symbols '{shown}': its quote is not in the query")
        elif bands[symbol] == "rejected":
            dropped.append(f"target_symbols '{shown}': it is too unlike the query")
        else:
            symbols.append(symbol)
    frame = Frame(slots, tuple(dict.fromkeys(symbols)), bands, tuple(dropped))
    notes = tuple(f"dropped from the frame: {name}" for name in dropped[:MAX_NAMED])
    if len(dropped) > MAX_NAMED:
        notes = (*notes, f"dropped from the frame: and {len(dropped) - MAX_NAMED} more")
    doubtful = [symbol[:MAX_SHOWN_CHARS] for symbol in frame.symbols if bands[symbol] == "low_confidence"]
    if doubtful:
        notes = (*notes, f"taken with low confidence, so look them up first: {', '.join(doubtful[:MAX_NAMED])}")
    return Outcome(state.with_(frame=frame), problems, notes)


def band_of(contract: Contract, similarity: float | None) -> str:
    """Return how a symbol's likeness to the query is taken: accepted, low confidence, or rejected; None is low."""
    if similarity is None:
        return "low_confidence"
    if similarity >= contract.relevance.accepted:
        return "accepted"
    return "low_confidence" if similarity >= contract.relevance.low else "rejected"


def explored(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    """Note the files that were explored; each must have been shown."""
    unseen = [file for file in payload["explored_files"] if file not in state.shown]
    problems = [f"explored_files: no tool of this session showed '{file}'" for file in unseen[:MAX_NAMED]]
    explored = tuple(dict.fromkeys((*state.explored, *payload["explored_files"])))
    barely = [file for file in payload["explored_files"] if lines_shown(state, file) < LEAST_LINES]
    noted = f"hardly a line was shown of {', '.join(barely[:MAX_NAMED])}; read what you will change" if barely else ""
    vague = vague_findings(state, payload["findings"])
    warnings = [each for each in state.warnings if not each.startswith(VAGUE)]
    warned = state.with_(explored=explored, warnings=tuple([*warnings, vague] if vague else warnings))
    return Outcome(warned, problems, tuple(filter(None, (noted, vague))))


def lines_shown(state: SessionState, file: str) -> int:
    """Return of how many lines of a file the tools of a session have shown something."""
    return sum(last - first + 1 for first, last in state.shown.get(file, ()))


def risk_of(contract: Contract, query: str) -> str:
    """Return the first word of a query that says that its change is of high risk; empty if there is none."""
    words = (found.group() for found in _QUERY_WORD.finditer(query))
    return next((word for word in words if word.lower().startswith(contract.high_risk.words)), "")


def enough_for(contract: Contract, query: str) -> Confidence:
    """Return what counts as enough exploration for a query: more where its change is of high risk."""
    return contract.high_risk.confidence if risk_of(contract, query) else contract.confidence


def confidence_of(contract: Contract, state: SessionState) -> float:
    """Return the server's own confidence in an exploration, 0 to 1: a quarter for each threshold that is reached."""
    enough = enough_for(contract, state.query)
    kinds = {use.kind or use.tool for use in state.uses if use.tool in contract.tools and contract.tools[use.tool].kind}
    symbols = len(state.frame.symbols) if state.frame is not None else 0
    found = symbols or sum(use.kind in {"definitions", "symbols"} and bool(use.targets) for use in state.uses)
    references = sum(use.kind == "references" and bool(use.targets) for use in state.uses)
    reached = (
        len(state.explored) >= enough.files,
        found >= enough.symbols,
        len(kinds) >= enough.tool_kinds,
        references >= enough.references,
    )
    return sum(reached) / len(reached)


def question_answered(
    contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed
) -> Outcome:
    """Take the answer to a question, for yes where the gate is full or confidence is low."""
    said = any(value is True for value in payload.values())
    confidence = confidence_of(contract, state)
    least = enough_for(contract, state.query).least
    is_doubtful = confidence < least
    notes: tuple[str, ...] = ()
    if not said and state.gate_level == "full":
        notes = ("the gate is full: the answer was taken for yes",)
    elif not said and is_doubtful:
        risk = risk_of(contract, state.query)
        wanted = f", {least:.2f} is asked for where the query speaks of '{risk[:MAX_SHOWN_CHARS]}'" if risk else ""
        notes = (f"confidence in the exploration is {confidence:.2f}{wanted}: the answer was taken for yes",)
    return Outcome(state, notes=notes, answered_yes=said or bool(notes))


def hypotheses_checked(
    contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed
) -> Outcome:
    """Demand that hypotheses rest on what was shown, and that refuted ones are withdrawn."""
    problems = [
        f"hypotheses_verified[{place}]: it came out false; withdraw it, or say what replaces it"
        for place, entry in enumerate(payload["hypotheses_verified"])
        if not entry["confirmed"] and not entry.get("withdrawn") and not str(entry.get("replaced_by") or "").strip()
    ]
    problems += [
        f"hypotheses_verified[{place}].evidence: it names no file that this session's tools showed; give path and lines"
        for place, entry in enumerate(payload["hypotheses_verified"])
        if not entry.get("withdrawn") and not any(file in entry["evidence"] for file in state.shown)
    ]
    problems += [
        f"hypotheses_verified[{place}].evidence: no tool of this session showed {missed}"
        for place, entry in enumerate(payload["hypotheses_verified"])
        if not entry.get("withdrawn") and (missed := _unseen_line(state, entry["evidence"]))
    ]
    return Outcome(state, problems)


def _unseen_line(state: SessionState, evidence: str) -> str:
    """Return the first place of a text whose file was shown and whose line was not; empty if there is none."""
    for file, line in ((found["file"], int(found["line"])) for found in _PLACE.finditer(evidence)):
        shown = state.shown.get(file)
        if shown and not any(first <= line <= last for first, last in shown):
            return f"{file}:{line}"
    return ""


def impact_told(contract: Contract, state: SessionState, payload: Mapping[str, Any], observed: Observed) -> Outcome:
    """Demand that every file that must be verified is spoken of, and that the analysis was of code to be changed."""
    told = {entry["file"] for entry in payload["impact_summary"] if says_something(entry["finding"])}
    missing = [file for file in state.must_verify if file not in told]
    problems = [f"impact_summary: says nothing of {file}, which must be verified" for file in missing[:MAX_NAMED]]
    if len(missing) > MAX_NAMED:
        problems.append(f"impact_summary: and of {len(missing) - MAX_NAMED} more")
    symbols = state.frame.symbols if state.frame is not None else ()
    code = [file for file in state.explored if not file.endswith(_DOCUMENTS)]
    if (symbols or code) and not _is_of_code(state, symbols, code):
        named = ", ".join((symbols or code)[:MAX_NAMED])
        file = "or its file" if symbols else "or a symbol of it, also where documents alone will change"
        problems.append(f"analyze_impact: it was called for no code of this change; call it for {named}, {file}")
    return Outcome(state, problems)


def _is_of_code(state: SessionState, symbols: Sequence[str], code: Sequence[str]) -> bool:
    """Return whether an impact analysis was about a symbol of the query, or a file of code that was explored.

    Of a query that names no symbol it is any symbol: what is neither a path nor a file that was shown.
    """
    wanted = {symbol.rpartition(".")[2] for symbol in symbols}
    targets = {target for use in state.uses if use.kind == "impact" and not use.refused for target in use.targets}
    # That none was made is demanded elsewhere.
    return not targets or any(
        target in code
        or (target.rpartition(".")[2] in wanted if symbols else not _is_path(target) and target not in state.shown)
        for target in targets
    )


def _is_path(target: str) -> bool:
    return "/" in target or target.endswith(_DOCUMENTS)
