"""Runs `jeeves token`: creates, lists and revokes the access tokens of HTTP callers."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from runtime.errors import InputError
from runtime.primitives.clock import SystemClock
from runtime.run.bearer_tokens import SCOPES, Scope, TokenRecord
from runtime.settings import MAX_DAYS
from serve.cli.command_settings import load_command_settings
from serve.cli.output.terminal import counted, say_json, say_line, warn_line
from serve.cli.token_store import has_tokens, open_tokens

app = typer.Typer(help="Create, list and revoke access tokens of HTTP callers.", no_args_is_help=True)

Config = Annotated[Path | None, typer.Option(readable=False, help="Settings file.")]

MS_PER_DAY = 86_400_000
DEFAULT_SCOPES = "ask,watch"


@app.command("create")
def create(
    name: Annotated[str, typer.Argument(help="Who holds it; runs are recorded as of token:NAME.")],
    scopes: Annotated[
        str | None,
        typer.Option(metavar="SCOPES", help=f"Of {', '.join(SCOPES)}, with commas; default: {DEFAULT_SCOPES}."),
    ] = None,
    expires_days: Annotated[
        float | None, typer.Option(metavar="DAYS", help="It is accepted for so long; default: until it is revoked.")
    ] = None,
    rotate: Annotated[
        bool,
        typer.Option(
            "--rotate", help="To replace the valid token of that name; scopes and end stay unless given anew."
        ),
    ] = False,
    config: Config = None,
) -> None:
    """Create an access token and print it, once; only a digest of it is kept."""
    settings = load_command_settings(config)
    chosen, expires_ms = None if scopes is None else _scopes_in(scopes), _expiry(expires_days)
    with open_tokens(settings) as tokens:
        if rotate:
            made, chosen, expires_ms, replaces = tokens.rotate(name, chosen, expires_ms)
        else:
            chosen = _scopes_in(DEFAULT_SCOPES) if chosen is None else chosen
            made, replaces = tokens.create(name, chosen, expires_ms), ""
    until = "until it is revoked" if expires_ms is None else f"until {_time(expires_ms)}"
    warn_line(f"token {made.token_id} of '{name}' may {', '.join(chosen)}, {until}; it is shown this once")
    if replaces:
        warn_line(f"it replaces {replaces}, which is accepted until `jeeves token revoke {replaces}`")
    say_line(made.text)


@app.command("list")
def list_tokens(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False, config: Config = None
) -> None:
    """List the access tokens, oldest first; `jeeves gc` deletes those that were revoked or expired long ago."""
    settings = load_command_settings(config)
    records: list[TokenRecord] = []
    if has_tokens(settings):
        with open_tokens(settings) as tokens:
            records = tokens.all()
    now_ms = SystemClock().now_ms()
    if as_json:
        say_json([_row(record, now_ms) for record in records])
        return
    for record in records:
        until = "" if record.expires_ms is None else f"  until {_time(record.expires_ms)}"
        scopes = ",".join(record.scopes)
        say_line(f"{record.token_id}  {record.state(now_ms):<7}  {record.name}  {scopes}{until}")


@app.command("revoke")
def revoke(
    named: Annotated[str, typer.Argument(metavar="NAME|ID", help="A name, for all of its tokens, or an id.")],
    config: Config = None,
) -> None:
    """Revoke access tokens: a running service refuses them within a second, and ends what it streams to them."""
    settings = load_command_settings(config)
    with open_tokens(settings) as tokens:
        found = tokens.revoke(named)
    names = ", ".join(f"{record.token_id} of '{record.name}'" for record in found)
    say_line(f"revoked {counted(len(found), 'token')}: {names}")


def _scopes_in(text: str) -> tuple[Scope, ...]:
    named = [part.strip() for part in text.split(",") if part.strip()]
    unknown = [name for name in named if name not in SCOPES]
    if unknown:
        raise InputError(f"no scope is named {', '.join(map(repr, unknown))}; known: {', '.join(SCOPES)}")
    return tuple(scope for scope in SCOPES if scope in named)


def _expiry(days: float | None) -> int | None:
    if days is None:
        return None
    if not 0 < days <= MAX_DAYS:
        raise InputError(f"--expires-days takes more than 0 and at most {MAX_DAYS} days, not {days:g}")
    return SystemClock().now_ms() + round(days * MS_PER_DAY)


def _row(record: TokenRecord, now_ms: int) -> dict[str, Any]:
    """Return what is shown of a token: neither it nor its digest."""
    shown = {name: getattr(record, name) for name in ("token_id", "name", "scopes")}
    times = {name: getattr(record, name) for name in ("created_ms", "expires_ms", "revoked_ms")}
    return {**shown, "state": record.state(now_ms), **times}


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
