"""Runs `jeeves init`, `allow`, `clean` and `outcome`: projects, consent, what became of changes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from runtime.errors import InputError
from serve.cli.command_settings import load_command_settings
from serve.cli.inputs import checked_repository
from serve.cli.output.terminal import say_json, say_line

Repo = Annotated[Path, typer.Option(readable=False, help="Folder of the repository.")]
Config = Annotated[Path | None, typer.Option(readable=False, help="Settings file.")]


def init(
    repo: Repo = Path(),
    contract: Annotated[bool, typer.Option(help="Copy the contract too, to be changed for this project.")] = True,
) -> None:
    """Prepare a project for coding agents: client entry, commands and guides, beside what is there."""
    from actors.capabilities.code_change.store.project_files import CODEX_HINT, write_project_files
    from serve.wiring import CHANGE_CONTRACT

    done = write_project_files(Path(checked_repository(repo)), CHANGE_CONTRACT.parent, with_contract=contract)
    for path in done.written:
        say_line(f"wrote  {path}")
    for path in done.kept:
        say_line(f"kept   {path}")
    left_out = "git leaves the new files out of this clone; files that are committed already stay in it"
    say_line(left_out if done.is_ignored else "this folder is no git repository")
    if contract:
        say_line("the contract in .code-intel/phase_contract.yml is in force if it only tightens, else once allowed")
    say_line("Codex reads prompts from your home folder alone: copy .codex/prompts/*.md into ~/.codex/prompts")
    say_line("Claude Code reads .mcp.json and .claude/commands; for Codex add to ~/.codex/config.toml:")
    for line in CODEX_HINT.splitlines():
        say_line(line)


def allow(
    repo: Repo = Path(),
    yes: Annotated[bool, typer.Option("--yes", help="Allow without asking.")] = False,
    config: Config = None,
) -> None:
    """Allow the contract, rules, checks and agreements that a repository brings along, exactly as they are now."""
    from actors.capabilities.code_change.session.consent import (
        BINDING_FILES,
        CONTRACT_FILE,
        found_agreements,
        found_context,
    )
    from actors.capabilities.violation_fix.checks.project_rules import RULES_FILE
    from runtime.codebase.files.consent import Consent
    from runtime.contracts.loading import load_contract

    consent = Consent(load_command_settings(config).state_dir)
    root = Path(checked_repository(repo))
    binding = [*consent.found(root, (*BINDING_FILES, RULES_FILE)), *found_context(root, consent)]
    agreements = found_agreements(root, consent)
    found = [*binding, *agreements]
    gone = [file for file in BINDING_FILES if file in consent.allowed(root) and not (root / file).exists()]
    for file in gone:
        say_line(f"gone     {file}, which was allowed")
    if not found and not gone:
        say_line("this repository brings no contract, no rules, no checks and no agreements along")
        return
    if any(each.file == CONTRACT_FILE for each in binding):
        # What has faults binds nobody, and would be taken for a guard.
        load_contract(root / CONTRACT_FILE)
    for each in binding:
        say_line(f"{'allowed ' if each.is_allowed else 'new     '} {each.file}  sha256 {each.sha256[:16]}")
        if each.file == CONTRACT_FILE and not each.is_allowed:
            say_line(f"         {_what_it_loosens(root)}")
    if agreements:
        new = sum(not each.is_allowed for each in agreements)
        say_line(f"{new} new of {len(agreements)} agreements in .code-intel/agreements: what earlier requests meant")
    if all(each.is_allowed for each in found) and not gone:
        say_line("everything is allowed already")
        return
    if not yes and not typer.confirm("Have you read them, and shall they take effect?"):
        raise InputError("nothing was allowed")
    consent.allow(root, {each.file: each.sha256 for each in found})
    say_line(f"allowed {len(found)} files; a changed file needs to be allowed again")


def _what_it_loosens(root: Path) -> str:
    from actors.capabilities.code_change.session.consent import tightened_contract
    from runtime.contracts.loading import load_contract
    from serve.wiring import CHANGE_CONTRACT

    tightened, looser = tightened_contract(root, load_contract(CHANGE_CONTRACT))
    if tightened is not None:
        return "it only tightens the shipped contract, and is in force without being allowed"
    return f"it is not tighter than the shipped contract at: {', '.join(looser)}" if looser else "it cannot be compared"


def clean(
    repo: Repo = Path(),
    yes: Annotated[bool, typer.Option("--yes", help="Clean without asking.")] = False,
    config: Config = None,
) -> None:
    """Delete what sessions of changes and fixes left: branches (each head is kept for 30 days) and checkpoints."""
    from actors.capabilities.code_change.records.changes import FIX_IDLE_S
    from serve.cli.change_store import open_change_records

    settings = load_command_settings(config)
    root = Path(checked_repository(repo))
    with open_change_records(settings) as records:
        found = records.leftovers(root)
    for branch in found.branches:
        say_line(f"branch   {branch}")
    for session_id in found.sessions:
        say_line(f"session  {session_id}")
    for branch in found.fixes:
        say_line(f"fix      {branch}")
    for branch in found.young_fixes:
        say_line(f"kept     {branch}: touched less than {FIX_IDLE_S / 60:.0f} minutes ago, so a fix may be under way")
    if not found.branches and not found.sessions and not found.fixes:
        say_line("nothing was left here beside that" if found.young_fixes else "nothing was left here")
        return
    if not yes and not typer.confirm("Delete them?"):
        raise InputError("nothing was deleted")
    with open_change_records(settings) as records:
        done = records.clean(root, found)
    for aside in done.deleted:
        say_line(f"deleted {aside.branch}; this brings it back: {aside.restoring}")
    for branch, reason in done.kept.items():
        say_line(f"kept    {branch}: {reason}")


def outcome(
    session: Annotated[str | None, typer.Argument(help="Id of the session; `jeeves runs list` shows it.")] = None,
    verdict: Annotated[
        str | None, typer.Argument(metavar="success|failure|partial", help="What became of the change.")
    ] = None,
    reason: Annotated[str, typer.Option(help="Why.")] = "",
    phase: Annotated[str, typer.Option(help="The phase in which it went wrong.")] = "",
    export: Annotated[
        Path | None, typer.Option(readable=False, help="Write this repository's agreements and outcomes to a new file.")
    ] = None,
    import_: Annotated[
        Path | None, typer.Option("--import", readable=False, help="Add the agreements and outcomes of such a file.")
    ] = None,
    repo: Repo = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    config: Config = None,
) -> None:
    """Record what became of a change: a success is remembered in the Map, a failure is told as a hint."""
    from serve.cli.change_store import open_change_records

    settings = load_command_settings(config)
    if (export is not None) + (import_ is not None) + (session is not None) != 1 or (session and not verdict):
        raise InputError("give SESSION and what became of it, or --export FILE, or --import FILE")
    if session is not None:
        with open_change_records(settings) as records:
            row, note = records.record_outcome(session, str(verdict), reason, phase)
        if as_json:
            say_json({**msgspec.to_builtins(row), "note": note})
            return
        say_line(f"{row.session_id}: {row.verdict}")
        if note:
            say_line(note)
        return
    root = Path(checked_repository(repo))
    with open_change_records(settings) as records:
        done = records.export_to(root, export) if export is not None else records.import_from(root, import_ or Path())
    if as_json:
        say_json(done._asdict())
        return
    left = "agreements that were not allowed" if export is not None else "outcomes that were known"
    say_line(f"{done.agreements} agreements, {done.outcomes} outcomes; left out: {done.left_out} {left}")
