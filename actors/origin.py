"""Checks that this process runs our code and not packages of the same names from another folder.

Our package names are generic, and a user's folder may hold others of the same names.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
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
    for name, content in _sources(tree):
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return f"{_installed_version()}+{digest.hexdigest()}"


def code_stamp(tree: Path | None = None) -> str:
    """Return a digest of when our files were changed and how large they are; while it is the same, so is our code."""
    root = str(tree or code_tree())
    digest = hashlib.blake2b(root.encode(), digest_size=12)
    for path in _source_paths(root):
        found = os.stat(path)  # noqa: PTH116
        digest.update(f"{path}\0{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}\0".encode())
    return digest.hexdigest()


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


def _sources(tree: Path) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents in a fixed order."""
    for path in _source_paths(str(tree)):
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123
            yield os.path.relpath(path, tree), file.read()


def _source_paths(tree: str) -> Iterator[str]:
    """Yield the paths of our files in a fixed order; without `Path`, whose cost every warm question would feel."""
    for package in _VERSIONED:
        for folder, folders, names in os.walk(f"{tree}/{package}"):
            folders[:] = sorted(set(folders) - {"__pycache__"})
            for name in sorted(names):
                path = f"{folder}/{name}"
                # Editors leave links that lead nowhere.
                if not name.endswith(".pyc") and os.path.isfile(path):  # noqa: PTH113
                    yield path


def _installed_version() -> str:
    # Imported here: whoever only compares stamps needs none of it.
    import importlib.metadata

    try:
        return importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return "0"
