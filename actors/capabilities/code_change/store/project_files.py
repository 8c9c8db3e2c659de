"""Writes what `jeeves init` adds to a project: the contract's folder, client entries and commands.

Nothing that is there is overwritten; git is told to leave the new files out, so that they make no work tree dirty.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from actors.capabilities.code_change.store import context_file
from runtime.codebase.files.project_config import STARTING
from runtime.codebase.git.git_folder import find_git_folder, read_bounded
from runtime.errors import InputError, RepositoryError
from runtime.primitives.text_files import read_text_file

FOLDER = ".code-intel"
CLIENT_FILE = ".mcp.json"
MAX_BYTES = 1_000_000
CLIENT_ENTRY = {"command": "jeeves", "args": ["mcp", "--repo", ".", "--tools", "all"]}
CODEX_HINT = '[mcp_servers.jeeves]\ncommand = "jeeves"\nargs = ["mcp", "--repo", ".", "--tools", "all"]\n'

COMMANDS: Mapping[str, str] = {
    ".claude/commands/code.md": "code.md",
    ".claude/commands/outcome.md": "outcome.md",
    ".codex/prompts/code.md": "code.md",
    ".codex/prompts/outcome.md": "outcome.md",
}


class Written(msgspec.Struct, frozen=True):
    """Lists what was written and what was there already, by path; `is_ignored`: whether git leaves them out."""

    written: tuple[str, ...]
    kept: tuple[str, ...]
    is_ignored: bool


def write_project_files(root: Path, shipped: Path, *, with_contract: bool = True) -> Written:
    """Write the files of a project, copied from the folder `shipped`.

    Raises InputError for a file that cannot be read or written, or behind a link.
    """
    wanted = {f"{FOLDER}/{name}": text for name, text in _folder_texts(shipped, with_contract=with_contract).items()}
    wanted |= {path: (shipped / "commands" / name).read_text("utf-8") for path, name in COMMANDS.items()}
    written: list[str] = []
    kept: list[str] = []
    for path in (*wanted, CLIENT_FILE):
        _refuse_links(root, path)
    try:
        for path, text in wanted.items():
            (written if _written(root / path, text) else kept).append(path)
        (written if _with_entry(root / CLIENT_FILE) else kept).append(CLIENT_FILE)
        is_ignored = leave_out(root, [path for path in written if path != CLIENT_FILE or _is_new(root)])
    except OSError as error:
        raise InputError(f"{error.filename or root} cannot be written: {error.strerror}") from error
    return Written(tuple(written), tuple(kept), is_ignored)


def _refuse_links(root: Path, path: str) -> None:
    """Raise InputError if a path leads through a link: a repository could have files elsewhere written."""
    place = root
    for part in Path(path).parts:
        place = place / part
        if place.is_symlink():
            raise InputError(f"{place} is a link, and nothing is written through one; replace it, or remove it")


def _folder_texts(shipped: Path, *, with_contract: bool) -> dict[str, str]:
    texts = {f"guides/{path.name}": path.read_text("utf-8") for path in sorted((shipped / "guides").glob("*.md"))}
    texts["config.json"] = msgspec.json.format(msgspec.json.encode(STARTING), indent=2).decode() + "\n"
    texts["context.yml"] = context_file.STARTING
    if with_contract:
        texts["phase_contract.yml"] = (shipped / "code_change.yaml").read_text("utf-8")
    return texts


def _written(path: Path, text: str) -> bool:
    """Write a new file; return False where there is one, or anything else, already."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError:
        return False
    return True


def _with_entry(path: Path) -> bool:
    """Add our entry to a client's file of servers, beside those that it has."""
    try:
        known: Any = json.loads(read_text_file(path, MAX_BYTES)) if path.exists() else {}
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON, so no server was added to it: {error}") from error
    servers = known.get("mcpServers", {}) if isinstance(known, dict) else None
    if not isinstance(known, dict) or not isinstance(servers, dict):
        raise InputError(f"{path} has no object `mcpServers`; add this server to it yourself: {CLIENT_ENTRY}")
    if "jeeves" in servers:
        return False
    known["mcpServers"] = {**servers, "jeeves": CLIENT_ENTRY}
    path.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
    return True


def _is_new(root: Path) -> bool:
    """Return whether the client's file has no server but ours, so that nobody committed it before."""
    return list(json.loads((root / CLIENT_FILE).read_text("utf-8"))["mcpServers"]) == ["jeeves"]


def leave_out(root: Path, paths: list[str]) -> bool:
    """Tell git to leave new files out of this clone; return False without a repository of git. Raises OSError."""
    try:
        folder = find_git_folder(root.resolve())
    except RepositoryError:
        return False
    if folder is None:
        return False
    listed = folder.common / "info" / "exclude"
    listed.parent.mkdir(exist_ok=True)
    folder.check(listed.parent)
    known = read_bounded(listed, MAX_BYTES) or ""
    below = root.resolve().relative_to(folder.top).as_posix()
    prefix = "/" if below == "." else f"/{below}/"
    lines = dict.fromkeys(
        f"{prefix}{FOLDER}/" if path.startswith(f"{FOLDER}/") else f"{prefix}{path}" for path in paths
    )
    missing = [line for line in lines if line not in known.split("\n")]
    if missing:
        start = known if not known or known.endswith("\n") else f"{known}\n"
        listed.write_text(start + "\n".join(missing) + "\n", "utf-8", "surrogateescape")
    return True
