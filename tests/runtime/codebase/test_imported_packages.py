"""Which file of a repository an import of one of its own packages names."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from tests.repositories import write_files

PACKAGES = {
    "packages/cup/package.json": '{\n  "name": "@shop/cup",\n  "main": "dist/index.js"\n}\n',
    "packages/cup/src/index.ts": "export function stir() {}\n",
    "packages/cup/src/deep/lid.ts": "export function close() {}\n",
    "packages/pot/package.json": '{"name": "pot", "author": {"name": "jo"}}\n',
    "packages/pot/index.js": "export function pour() {}\n",
    "packages/one/package.json": '{\n  "author": {\n      "name": "cat"\n  },\n  "name": "twin"\n}\n',
    "packages/one/index.js": "export const one = 1\n",
    "packages/two/package.json": '{\n  "name": "twin"\n}\n',
    "packages/two/index.js": "export const two = 2\n",
}


@pytest.mark.parametrize(
    ("module", "target"),
    [
        ("@shop/cup", "packages/cup/src/index.ts"),
        ("@shop/cup/deep/lid", "packages/cup/src/deep/lid.ts"),
        ("@shop/cup/deep/lid.js", "packages/cup/src/deep/lid.ts"),
        ("@shop/cup/none", None),
        ("@shop", None),
        ("pot", "packages/pot/index.js"),
        ("pottery", None),
        ("jo", None),
        ("cat", None),
        ("twin", None),
        ("node:fs", None),
    ],
)
@pytest.mark.parametrize("importer", ["app/main.js", "app/main.ts", "app/main.tsx"])
def test_a_package_is_imported_by_the_name_that_it_declares(
    tmp_path: Path, importer: str, module: str, target: str | None
) -> None:
    root = write_files(tmp_path / "root", {**PACKAGES, importer: f'import * as all from "{module}"\n'})
    refresh(root, tmp_path / "index.sqlite")
    codebase = Codebase.open(root, tmp_path / "index.sqlite")
    assert {each.target for each in codebase.imports_of(importer)} == {target}
    codebase.close()
