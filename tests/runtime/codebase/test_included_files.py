"""Which file of a repository a line of C includes."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from tests.repositories import write_files


@pytest.mark.parametrize(
    ("line", "header", "target"),
    [
        ("#include <string.h>", "include/cup/string.h", None),
        ("#include <string.h>", "include/string.h", "include/string.h"),
        ("#include <string.h>", "string.h", "string.h"),
        ('#include "string.h"', "src/string.h", "src/string.h"),
        ('#include "cup/string.h"', "include/cup/string.h", "include/cup/string.h"),
        ("#include <cup.h>", "include/cup/cup.h", "include/cup/cup.h"),
    ],
)
def test_a_header_of_the_standard_library_is_none_of_some_folder(
    tmp_path: Path, line: str, header: str, target: str | None
) -> None:
    root = write_files(tmp_path / "root", {"src/a.c": f"{line}\nint stir(void) {{ return 1; }}\n", header: "int a;\n"})
    refresh(root, tmp_path / "index.sqlite")
    codebase = Codebase.open(root, tmp_path / "index.sqlite")
    assert [each.target for each in codebase.imports_of("src/a.c")] == [target]
    codebase.close()
