"""Finds the file and the variables that settings are read from, and says in a digest what they hold.

Equal digests mean equal settings, without reading them: neither pydantic nor YAML is imported here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import runtime

ENV_PREFIX = "JEEVES_"
FILE_NAME = "jeeves.yaml"

# Where `~` and the default state folder lead.
_PLACES = ("HOME", "XDG_STATE_HOME")
_STATE_DIR = f"{ENV_PREFIX}STATE_DIR"


def shipped_config_dir() -> Path:
    """Return the folder of the configuration that ships with the package."""
    return Path(str(runtime.__file__)).resolve().parent.parent / "configs"


def absolute(path: Path) -> Path:
    """Return a path of the settings as an absolute one."""
    return path.expanduser().resolve()


def default_file(env: Mapping[str, str]) -> Path:
    """Return the settings file where none is named: `jeeves.yaml` in $JEEVES_CONFIG_DIR, else the shipped one."""
    chosen = env.get(f"{ENV_PREFIX}CONFIG_DIR")
    if chosen and (own := absolute(Path(chosen)) / FILE_NAME).is_file():
        return own
    return shipped_config_dir() / FILE_NAME


def default_state_dir(env: Mapping[str, str]) -> Path:
    """Return the state folder where neither file nor variable names one."""
    # The XDG specification requires ignoring a relative $XDG_STATE_HOME.
    home = Path(env.get("XDG_STATE_HOME", ""))
    return (home if home.is_absolute() else Path("~/.local/state")) / "jeeves"


def state_dir_in(env: Mapping[str, str]) -> Path:
    """Return the state folder of an environment; a settings file may still name another one."""
    given = [value for name, value in env.items() if name.upper() == _STATE_DIR and value]
    return absolute(Path(given[-1]) if given else default_state_dir(env))


def sources_digest(config: Path | None, system: str | None, env: Mapping[str, str]) -> str:
    """Return a digest of all that settings are read from: the file, our variables, and the system that is asked for.

    Raises OSError if the file cannot be read.
    """
    file = absolute(config or default_file(env))
    ours = {name: value for name, value in env.items() if name.upper().startswith(ENV_PREFIX) or name in _PLACES}
    digest = hashlib.sha256(json.dumps([str(file), system, sorted(ours.items())]).encode())
    digest.update(file.read_bytes())
    return digest.hexdigest()
