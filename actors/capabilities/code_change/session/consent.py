"""Reads the contract and the rules that a repository brings along, where the operator allowed them.

They are inert until then (`runtime/codebase/files/consent.py`); sessions read them when they begin. Agreements that
were recorded or imported on this machine are allowed from the start.
"""

from __future__ import annotations

from pathlib import Path

from actors.capabilities.code_change.store.agreement_files import read_agreements
from actors.capabilities.code_change.store.context_file import CONTEXT_FILE, read_context
from runtime.codebase.files.consent import Consent, Found
from runtime.contracts.contract import Contract
from runtime.contracts.loading import parse_contract
from runtime.errors import DocumentFaults, InputError

CONTRACT_FILE = ".code-intel/phase_contract.yml"
RULE_FILES = ("CLAUDE.md", "AGENTS.md", ".claude/CLAUDE.md")
BINDING_FILES = (CONTRACT_FILE, *RULE_FILES)
MAX_RULES_CHARS = 6_000


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
    """Return the contract for sessions on a repository, and what has to be said of the choice."""
    if not consent.found(root, [CONTRACT_FILE]):
        return shipped, []
    text = consent.allowed_text(root, CONTRACT_FILE)
    if text is None:
        return shipped, [f"{CONTRACT_FILE} is not in force until the person runs `jeeves allow`"]
    try:
        return parse_contract(text, CONTRACT_FILE), []
    except DocumentFaults as error:
        return shipped, [f"{CONTRACT_FILE} is not in force: {error.message}"]


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
