"""Keeps what the operator allowed of a repository: its contract and rules, by SHA-256.

What a repository brings along is inert until then. `jeeves allow` writes here; sessions read it when they begin.
Agreements are kept here too: those that were recorded or imported on this machine are allowed from the start.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from actors.capabilities.code_change.store.agreement_files import read_agreements
from actors.capabilities.code_change.store.context_file import CONTEXT_FILE, read_context
from runtime.contracts.contract import Contract
from runtime.contracts.loading import parse_contract
from runtime.errors import DocumentFaults, InputError
from runtime.primitives.text_files import read_text_file

CONTRACT_FILE = ".code-intel/phase_contract.yml"
RULE_FILES = ("CLAUDE.md", "AGENTS.md", ".claude/CLAUDE.md")
MAX_BYTES = 1_000_000
MAX_RULES_CHARS = 6_000


class Found(msgspec.Struct, frozen=True):
    """Describes a file of a repository that would bind sessions: its digest, and whether that was allowed."""

    file: str
    sha256: str
    is_allowed: bool


class Consent:
    """Reads and writes what was allowed, in one file of the state folder: repository → file → SHA-256."""

    def __init__(self, state_dir: Path) -> None:
        self._file = state_dir / "allowed.json"

    def found(self, root: Path) -> list[Found]:
        """Return the files of a repository that would bind sessions, allowed or not."""
        allowed = self.allowed(root)
        found = []
        for name in (CONTRACT_FILE, *RULE_FILES):
            digest = _digest(root / name)
            if digest is not None:
                found.append(Found(name, digest, allowed.get(name) == digest))
        return found

    def found_agreements(self, root: Path) -> list[Found]:
        """Return the agreements that a repository brings along, allowed or not."""
        allowed = self.allowed(root)
        files = read_agreements(root).files
        return [Found(path, each.sha256, allowed.get(path) == each.sha256) for path, each in files.items()]

    def found_context(self, root: Path) -> list[Found]:
        """Return the file that switches document research off, allowed or not; nothing where none does."""
        try:
            context = read_context(root)
        except InputError:
            # What cannot be used binds nobody.
            return []
        if context is None or context.doc_research.enabled:
            return []
        return [Found(CONTEXT_FILE, context.digest, self.allowed(root).get(CONTEXT_FILE) == context.digest)]

    def allowed(self, root: Path) -> dict[str, str]:
        """Return what was allowed of a repository: file → SHA-256."""
        return self._read().get(str(root), {})

    def add(self, root: Path, files: dict[str, str]) -> None:
        """Allow further files of a repository, beside what is allowed of it."""
        self.allow(root, {**self.allowed(root), **files})

    def allow(self, root: Path, files: dict[str, str]) -> None:
        """Allow files of a repository with exactly these digests, in place of what was allowed of it before."""
        everything = {**self._read(), str(root): files}
        self._file.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._file.with_suffix(".new")
        fresh.write_bytes(msgspec.json.format(msgspec.json.encode(everything)))
        fresh.replace(self._file)

    def _read(self) -> dict[str, dict[str, str]]:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=dict[str, dict[str, str]])
        except FileNotFoundError:
            return {}


def _digest(path: Path) -> str | None:
    try:
        return hashlib.sha256(read_text_file(path, MAX_BYTES).encode("utf-8", "surrogatepass")).hexdigest()
    except (OSError, ValueError):
        # What cannot be read as text binds nobody.
        return None


def contract_of(root: Path, shipped: Contract, consent: Consent) -> tuple[Contract, list[str]]:
    """Return the contract for sessions on a repository, and what has to be said of the choice."""
    own = next((found for found in consent.found(root) if found.file == CONTRACT_FILE), None)
    if own is None:
        return shipped, []
    if not own.is_allowed:
        return shipped, [f"{CONTRACT_FILE} is not in force until the person runs `jeeves allow`"]
    try:
        text = read_text_file(root / CONTRACT_FILE, MAX_BYTES)
        if hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() != own.sha256:
            return shipped, [f"{CONTRACT_FILE} is not in force: it was changed a moment ago"]
        return parse_contract(text, CONTRACT_FILE), []
    except DocumentFaults as error:
        return shipped, [f"{CONTRACT_FILE} is not in force: {error.message}"]


def project_rules(root: Path, consent: Consent) -> tuple[dict[str, str], list[str]]:
    """Return the project's own rules that were allowed, by file, and what has to be said of the others."""
    rules, notes = {}, []
    for found in consent.found(root):
        if found.file == CONTRACT_FILE:
            continue
        if found.is_allowed:
            rules[found.file] = read_text_file(root / found.file, MAX_BYTES)[:MAX_RULES_CHARS]
        else:
            notes.append(
                f"the rules in {found.file} are not in force until the person runs `jeeves allow`; you may read the "
                "file, but it binds nobody"
            )
    return rules, notes
