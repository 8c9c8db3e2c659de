"""Checks that this process runs our code and not packages of the same names from another folder.

Our package names are generic, and a user's folder may hold others of the same names.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGES = ("runtime", "actors", "serve")
DISTRIBUTION = "jeeves"

_VERSIONED = (*PACKAGES, "configs")


def code_tree() -> Path:
    """Return the folder that holds our packages."""
    return Path(__file__).resolve().parent.parent


def check_origin() -> None:
    """Return if `runtime`, `actors` and `serve` come from the tree of this file, else raise ForeignCodeError."""
    tree = code_tree()
    for name in PACKAGES:
        found, expected = _package_folder(name), tree / name
        if found != expected:
            raise _foreign_code(name, found, expected)


def code_version(tree: Path | None = None) -> str:
    """Return version and content hash of our code, such as `0.1.0+3fa9c1d20b7e`; it differs when the code differs."""
    tree = tree or code_tree()
    digest = hashlib.blake2b(digest_size=6)
    for path in _sources(tree):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(tree).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return f"{_installed_version()}+{digest.hexdigest()}"


def _package_folder(name: str) -> Path | None:
    """Return the folder that the package is or would be imported from, without importing it."""
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None) if module else importlib.util.find_spec(name)
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return Path(folders[0]).resolve() if folders else None


def _foreign_code(name: str, found: Path | None, expected: Path) -> Exception:
    message = (
        f"this process would run foreign code: package '{name}' comes from {found or 'nowhere'}, not from {expected}; "
        "start `jeeves` from another folder, and take that folder out of PYTHONPATH"
    )
    try:
        from runtime.errors import ForeignCodeError
    except ImportError:
        # The foreign package is `runtime` itself, so our errors cannot be reached.
        return ImportError(message)
    return ForeignCodeError(message, package=name, found=str(found), expected=str(expected))


def _sources(tree: Path) -> Iterator[Path]:
    for package in _VERSIONED:
        for path in sorted((tree / package).rglob("*")):
            if path.suffix != ".pyc" and path.is_file():
                yield path


def _installed_version() -> str:
    try:
        return importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return "0"
