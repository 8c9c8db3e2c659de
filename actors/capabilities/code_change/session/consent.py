"""Reads the contract and the rules that a repository brings along, where the operator allowed them.

They are inert until then (`runtime/codebase/files/consent.py`), but for a contract that only tightens the shipped
one. Sessions read them when they begin. Agreements that were recorded or imported on this machine are allowed from the
start.
"""

from __future__ import annotations

import os
from pathlib import Path

from actors.capabilities.code_change.store.agreement_files import read_agreements
from actors.capabilities.code_change.store.context_file import CONTEXT_FILE, read_context
from runtime.codebase.files.consent import Consent, Found, text_of_file
from runtime.contracts.contract import Contract
from runtime.contracts.loading import parse_contract
from runtime.contracts.tightening import loosenings
from runtime.errors import DocumentFaults, InputError

CONTRACT_FILE = ".code-intel/phase_contract.yml"
RULE_FILES = ("CLAUDE.md", "AGENTS.md", ".claude/CLAUDE.md")
BINDING_FILES = (CONTRACT_FILE, *RULE_FILES)
MAX_RULES_CHARS = 6_000
MAX_UNALLOWED_CHARS = 1 << 16
MAX_LOOSENINGS = 5
UNREADABLE = (
    "{file} of this repository is not in force, since it cannot be read: a contract is a regular file of UTF-8 text, "
    "no folder, pipe or broken link, and not too large; the person puts such a file there, or takes it away"
)
FAULTY = (
    "{file} of this repository is not in force, since it has faults: `jeeves validate {file}` names them, and the "
    "person mends them; `jeeves allow` takes none that has faults"
)
CHANGED_SINCE = (
    "{file}, which the person allowed, was changed or removed since, so no session begins: the person restores it, or "
    "runs `jeeves allow` to have what is there now take effect"
)


def found_agreements(root: Path, consent: Consent) -> list[Found]:
    """Return the agreements that a repository brings along, allowed or not."""
    allowed = consent.allowed(root)
    files = read_agreements(root).files
    return [Found(path, each.sha256, allowed.get(path) == each.sha256) for path, each in files.items()]


def found_context(root: Path, consent: Consent) -> list[Found]:
    """Return the file that switches document research off, allowed or not; nothing where none does."""
    try:
        context = read_context(root)
    except InputError:
        # What cannot be used binds nobody.
        return []
    if context is None or context.doc_research.enabled:
        return []
    return [Found(CONTEXT_FILE, context.digest, consent.allowed(root).get(CONTEXT_FILE) == context.digest)]


def contract_of(root: Path, shipped: Contract, consent: Consent) -> tuple[Contract, list[str]]:
    """Return the contract for sessions on a repository, and what has to be said of the choice.

    One that nobody allowed is in force if it only tightens the shipped one; else none of it is, and none of its words
    are said. Raises InputError where the one that was allowed has changed, is gone or has faults: nothing takes its
    place, since that would do without what the operator demands.
    """
    text = consent.allowed_text(root, CONTRACT_FILE)
    if text is None and CONTRACT_FILE in consent.allowed(root):
        raise InputError(CHANGED_SINCE.format(file=CONTRACT_FILE))
    if text is None:
        return _unallowed_contract(root, shipped)
    try:
        return parse_contract(text, CONTRACT_FILE), []
    except DocumentFaults as error:
        raise InputError(
            f"the contract that the person allowed cannot be used, so no session begins: {error.message}"
        ) from error


def _unallowed_contract(root: Path, shipped: Contract) -> tuple[Contract, list[str]]:
    if not os.path.lexists(root / CONTRACT_FILE):
        return shipped, []
    if text_of_file(root, CONTRACT_FILE) is None:
        return shipped, [UNREADABLE.format(file=CONTRACT_FILE)]
    try:
        given, looser = _compared(root, shipped)
    except DocumentFaults:
        # They would quote it to the agent.
        return shipped, [FAULTY.format(file=CONTRACT_FILE)]
    if given is not None and given.digest == shipped.digest:
        return shipped, []
    if given is not None:
        return given, [f"{CONTRACT_FILE} of this repository is in force: it only tightens the shipped contract"]
    why = f"; it is not tighter at {', '.join(looser[:MAX_LOOSENINGS])}" if looser else ""
    return shipped, [f"{CONTRACT_FILE} is not in force until the person runs `jeeves allow`{why}"]


def tightened_contract(root: Path, shipped: Contract) -> tuple[Contract | None, list[str]]:
    """Return the contract of a repository if it only tightens the shipped one; else None and the looser keys.

    There are no keys if the file has more than 65,536 characters, which are not parsed without consent, or has faults.
    """
    try:
        return _compared(root, shipped)
    except DocumentFaults:
        return None, []


def _compared(root: Path, shipped: Contract) -> tuple[Contract | None, list[str]]:
    text = text_of_file(root, CONTRACT_FILE)
    if text is None or len(text) > MAX_UNALLOWED_CHARS:
        return None, []
    given = parse_contract(text, CONTRACT_FILE)
    looser = loosenings(shipped, given)
    return (None, looser) if looser else (given, [])


def project_rules(root: Path, consent: Consent) -> tuple[dict[str, str], list[str]]:
    """Return the project's own rules that were allowed, by file, and what has to be said of the others."""
    rules, notes = {}, []
    for found in consent.found(root, RULE_FILES):
        text = consent.allowed_text(root, found.file)
        if text is not None:
            rules[found.file] = text[:MAX_RULES_CHARS]
        else:
            notes.append(_not_in_force(found))
    return rules, notes


def _not_in_force(found: Found) -> str:
    return (
        f"the rules in {found.file} are not in force until the person runs `jeeves allow`; you may read the "
        "file, but it binds nobody"
    )
