"""Tests that the labelled call edges are whole, and that each points at the source lines of its pinned package."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.codebase.edges.packages import (
    ChangedArchive,
    Package,
    PackageUnavailable,
    default_cache,
    labelled_edges,
    pinned_packages,
    unpack,
    verify,
)

LANGUAGES = {"python", "typescript", "javascript", "go", "rust", "java"}
LABELS = {"target", "targets", "external", "unresolvable"}
PACKAGES = {package.name: package for package in pinned_packages()}


def definitions(label: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield each definition that a label names."""
    yield from label.get("targets", [])
    yield from (label[key] for key in ("target", "constructor") if key in label)


def test_each_language_has_fifty_sites_and_thirty_targets_in_its_packages() -> None:
    labels = labelled_edges()
    sites = Counter(label["language"] for label in labels)
    inside = Counter(label["language"] for label in labels if label["label"] in ("target", "targets"))
    assert set(sites) == LANGUAGES
    assert min(sites.values()) >= 50, sites
    assert min(inside.values()) >= 30, inside


def test_each_site_is_labelled_once_and_its_label_has_its_definitions() -> None:
    labels = labelled_edges()
    places = Counter((label["package"], label["file"], label["line"], label["column"]) for label in labels)
    assert [place for place, count in places.items() if count > 1] == []
    assert len({label["id"] for label in labels}) == len(labels)
    for label in labels:
        assert label["label"] in LABELS, label["id"]
        assert PACKAGES[label["package"]].language == label["language"], label["id"]
        assert label["how"] and isinstance(label["resolvable"], bool), label["id"]
        assert ("target" in label) == (label["label"] == "target"), label["id"]
        assert ("targets" in label) == (label["label"] == "targets"), label["id"]
        assert label["label"] != "unresolvable" or not label["resolvable"], label["id"]


def test_an_archive_with_another_digest_is_refused(tmp_path: Path) -> None:
    package = next(iter(PACKAGES.values()))
    archive = tmp_path / package.archive
    archive.write_bytes(b"not the package")
    with pytest.raises(ChangedArchive, match=package.sha256):
        verify(archive, package)


@pytest.mark.parametrize("registry", ["pypi", "npm", "debian"])
def test_a_package_whose_client_is_missing_is_unavailable(
    registry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = next(package for package in PACKAGES.values() if package.registry == registry)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PackageUnavailable, match=f"is not installed, which downloads {package.name}"):
        unpack(package, tmp_path / "cache")


@pytest.mark.long
@pytest.mark.parametrize("package", PACKAGES.values(), ids=PACKAGES.keys())
def test_each_label_names_what_stands_on_its_lines(package: Package) -> None:
    try:
        root = unpack(package, default_cache())
    except PackageUnavailable as reason:
        pytest.skip(str(reason))
    for label in (label for label in labelled_edges() if label["package"] == package.name):
        called = line_of(root, label["file"], label["line"])
        assert called[label["column"] - 1 :].startswith(label["name"]), (label["id"], called)
        for definition in definitions(label):
            defined = line_of(root, definition["file"], definition["line"])
            assert re.search(rf"(?<!\w){re.escape(definition['name'])}(?!\w)", defined), (label["id"], defined)


def line_of(root: Path, file: str, line: int) -> str:
    """Return a line of a package's file, counted from one."""
    return (root / file).read_text(encoding="utf-8").split("\n")[line - 1]
