"""Finds the places that an answer cites: addresses for terminals with links, an editor that opens one.

Links follow OSC 8: `file://` with the line as the fragment. They are written only to terminals known to have them; all
others might show the address.
"""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runtime.errors import InputError
from runtime.primitives.visible_text import visible_line
from serve.cli.output.terminal import warn_line

# Variable of a terminal with links → the first version of it, where it writes one there.
_TERMINALS: dict[str, int] = {
    "KITTY_WINDOW_ID": 0,
    "WT_SESSION": 0,
    "DOMTERM": 0,
    "WEZTERM_PANE": 0,
    "GHOSTTY_RESOURCES_DIR": 0,
    "VTE_VERSION": 5000,
    "KONSOLE_VERSION": 201200,
}
_PROGRAMS = frozenset({"iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "rio"})
_KINDS = frozenset({"xterm-kitty", "alacritty", "alacritty-direct", "foot", "foot-extra", "xterm-ghostty"})

_PLUS_LINE = ("+{line}", "{file}")
_COLON_LINE = ("{file}:{line}",)
_GOTO = ("--goto", "{file}:{line}")
_LINE_OPTION = ("--line", "{line}", "{file}")
# Editor → the arguments that open a file at a line; others are given the file alone.
_EDITORS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("vi", "vim", "nvim", "gvim", "view", "ex", "nano", "pico", "micro", "kak"), _PLUS_LINE),
    **dict.fromkeys(("emacs", "emacsclient", "mg", "jed", "joe", "ne", "gedit", "kate"), _PLUS_LINE),
    **dict.fromkeys(("hx", "helix", "subl", "zed", "atom"), _COLON_LINE),
    **dict.fromkeys(("code", "code-insiders", "codium", "cursor", "windsurf"), _GOTO),
    **dict.fromkeys(("idea", "pycharm", "goland", "webstorm", "clion", "rubymine"), _LINE_OPTION),
}


def has_links(env: Mapping[str, str]) -> bool:
    """Return whether the terminal of this environment is known to have links; FORCE_HYPERLINK decides if it is set."""
    forced = env.get("FORCE_HYPERLINK")
    if forced is not None:
        return forced not in ("", "0")
    kind = env.get("TERM", "")
    # Multiplexers pass the variables of the terminal on, but not always its links.
    if kind in ("", "dumb", "linux") or kind.startswith(("screen", "tmux")) or "TMUX" in env or "STY" in env:
        return False
    if env.get("TERM_PROGRAM") in _PROGRAMS or kind in _KINDS:
        return True
    return any(name in env and _version(env[name]) >= least for name, least in _TERMINALS.items())


def _version(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def addresses(document: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, str]:
    """Return mark, as an answer shows it → address, of the citations; with the name of this host over SSH."""
    host = socket.gethostname() if "SSH_CONNECTION" in env else ""
    found = {}
    for citation in document["citations"]:
        path = place_of(document, citation)
        if path is not None:
            address = path.as_uri().replace("file://", f"file://{host}", 1)
            found[mark_of(citation)] = f"{address}#{citation['start_line']}"
    return found


def mark_of(citation: Mapping[str, Any]) -> str:
    """Return the mark of a citation, such as `[a.py:3-4]`, with hidden characters made visible."""
    first, last = citation["start_line"], citation["end_line"]
    lines = f"{first}" if first == last else f"{first}-{last}"
    return f"[{visible_line(str(citation['file']))}:{lines}]"


def place_of(document: Mapping[str, Any], citation: Mapping[str, Any]) -> Path | None:
    """Return the absolute path of a cited file; None if it is not below a folder of this machine."""
    root = Path(str(document["repo"]))
    path = Path(os.path.normpath(root / str(citation["file"])))
    try:
        is_file = root.is_absolute() and path.is_relative_to(root) and path.is_file()
    except ValueError:  # no name that a file can have
        return None
    return path if is_file else None


def editor_in(env: Mapping[str, str]) -> list[str]:
    """Return the editor with its own arguments, from VISUAL or EDITOR. Raises InputError if neither names one."""
    for name in ("VISUAL", "EDITOR"):
        try:
            words = shlex.split(env.get(name, ""))
        except ValueError as error:
            raise InputError(f"{name} cannot be read as a command: {error}; close its quotation", name=name) from error
        if words:
            return words
    raise InputError("--open needs an editor: set EDITOR, for example EDITOR=vim")


def editor_command(editor: list[str], path: Path, line: int) -> list[str]:
    """Return the command that opens a file at a line; it is run without a shell, and `path` is absolute."""
    form = _EDITORS.get(Path(editor[0]).name, ("{file}",))
    return [*editor, *(part.replace("{line}", str(line)).replace("{file}", str(path)) for part in form)]


def installed_editor(env: Mapping[str, str]) -> list[str]:
    """Return the editor, as `editor_in` does. Raises InputError if there is no such program."""
    editor = editor_in(env)
    if shutil.which(editor[0], path=env.get("PATH")) is None:
        raise InputError(f"--open needs an editor: '{editor[0]}' of VISUAL or EDITOR is not installed")
    return editor


def open_cited(document: Mapping[str, Any], editor: list[str]) -> None:
    """Open the first cited place in an editor, and wait until it is closed; a note is printed if there is none."""
    for citation in document["citations"]:
        path = place_of(document, citation)
        if path is not None:
            ended = subprocess.run(editor_command(editor, path, int(citation["start_line"])), check=False)
            if ended.returncode:
                warn_line(f"jeeves: {editor[0]} ended with status {ended.returncode}")
            return
    warn_line("jeeves: the answer cites no place that could be opened")
