"""Finds who commits: the environment, the repository's settings, then the user's, read as text."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from runtime.codebase.git.git_folder import MAX_SETTINGS_BYTES, GitFolder, read_bounded
from runtime.codebase.git.git_settings import Settings, parse_settings


class Identity(msgspec.Struct, frozen=True):
    """Holds the name and the address of who commits."""

    name: str
    email: str

    def environment(self) -> dict[str, str]:
        """Return the variables that tell git so."""
        return {
            f"GIT_{role}_{part}": value
            for role in ("AUTHOR", "COMMITTER")
            for part, value in (("NAME", self.name), ("EMAIL", self.email))
        }


def user_settings(environment: Mapping[str, str]) -> Settings:
    """Return the settings in the user's own files; includes are not followed, and nothing in them is run."""
    home = environment.get("HOME", "")
    named = environment.get("GIT_CONFIG_GLOBAL")
    folder = environment.get("XDG_CONFIG_HOME") or (f"{home}/.config" if home else "")
    files = [named] if named else [f"{folder}/git/config" if folder else "", f"{home}/.gitconfig" if home else ""]
    texts = (read_bounded(Path(file), MAX_SETTINGS_BYTES) for file in files if file)
    return parse_settings(*(text for text in texts if text is not None))


def identity_of(folder: GitFolder, environment: Mapping[str, str] | None = None) -> Identity | None:
    """Return who commits in a repository; None where no name or no address is set anywhere."""
    given = os.environ if environment is None else environment
    of_user = user_settings(given)
    name = given.get("GIT_AUTHOR_NAME") or _set(folder.settings, of_user, "name")
    email = given.get("GIT_AUTHOR_EMAIL") or _set(folder.settings, of_user, "email")
    clean = [" ".join(text.replace("<", "").replace(">", "").split()) for text in (name or "", email or "")]
    return Identity(*clean) if all(clean) else None


def _set(of_repository: Settings, of_user: Settings, key: str) -> str | None:
    return of_repository.last("user", key) or of_user.last("user", key)


def demands_signature(folder: GitFolder, environment: Mapping[str, str] | None = None) -> bool:
    """Return whether commits have to be signed by the settings of the repository or the user."""
    of_user = user_settings(os.environ if environment is None else environment)
    own = folder.settings.switch("commit", "gpgsign")
    return bool(of_user.switch("commit", "gpgsign") if own is None else own)
