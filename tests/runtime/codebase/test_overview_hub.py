from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from runtime.codebase.tools.describe_folder import describe_folder
from tests.repositories import write_files

Describe = Callable[[Mapping[str, str]], dict[str, Any]]

LICENCE = "MIT License\n\nCopyright (c) 2020 {holder}\n\nPermission is hereby granted to copy.\n"
BUILDS_ON_IT = "from depot.store import put\n\nput(1)\n"


@pytest.fixture
def describe(tmp_path: Path) -> Iterator[Describe]:
    opened: list[Codebase] = []

    def of(files: Mapping[str, str]) -> dict[str, Any]:
        root = tmp_path / "depot"
        write_files(root, files)
        refresh(root, tmp_path / "depot.sqlite")
        opened.append(Codebase.open(root, tmp_path / "depot.sqlite"))
        result = describe_folder(opened[-1])
        for row in result.data["hubs"]:
            assert row["citation"] is not None
        return result.data

    yield of
    for codebase in opened:
        codebase.close()


def parts_of(data: Mapping[str, Any]) -> list[str]:
    return [row["part"] for row in data["parts"]]


def drawn(data: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    return [(row["name"], row["step"], row["target"]) for row in data["hubs"]]


PACKAGE = {
    "depot/store.py": "def put(box):\n    return box\n",
    "depot/net.py": "def send(box):\n    return box\n",
    "depot/logs.py": "def log(text):\n    return text\n",
}


def test_the_file_where_a_program_starts_draws_its_parts_together(describe: Describe) -> None:
    data = describe(
        {
            **PACKAGE,
            "pyproject.toml": '[project]\nname = "depot"\n[project.scripts]\ndepot = "depot.cli:run"\n',
            "depot/cli.py": "from depot.net import send\nfrom depot.store import put\n\n\ndef run():\n    send()\n",
        }
    )
    assert sorted(drawn(data)) == [("depot/cli.py", "", "depot/net.py"), ("depot/cli.py", "", "depot/store.py")]
    assert {row["total"] for row in data["hubs"]} == {2}


@pytest.mark.parametrize(("between", "is_found"), [(1, True), (2, True), (3, False)])
def test_an_entry_that_hands_on_is_followed_three_steps(describe: Describe, between: int, is_found: bool) -> None:
    chain = {f"depot/step{number}.py": f"from depot import step{number + 1}\n" for number in range(between)}
    last = {f"depot/step{between}.py": "from depot.net import send\nfrom depot.store import put\n"}
    start = {"bin/depot": "#!/usr/bin/env python3\nfrom depot import step0\n", "depot/__init__.py": ""}
    found = drawn(describe({**PACKAGE, **chain, **last, **start}))
    hub = f"depot/step{between}.py"
    assert sorted((name, target) for name, step, target in found if not step) == (
        [(hub, "depot/net.py"), (hub, "depot/store.py")] if is_found else []
    )
    assert [step for _, step, _ in found if step] == (
        ["bin/depot", *(f"depot/step{number}.py" for number in range(between))] if is_found else []
    )


def test_a_header_belongs_to_the_file_that_it_declares_and_is_followed_there(describe: Describe) -> None:
    data = describe(
        {
            "src/main.c": '#include "depot.h"\n\nint main(void) { return run(); }\n',
            "include/depot.h": "int run(void);\n",
            "src/depot.c": '#include "depot.h"\n#include "box.h"\n#include "net.h"\nint run(void) { return 0; }\n',
            **{f"include/{name}.h": f"int {name}(void);\n" for name in ("box", "net")},
            **{f"src/{name}.c": f'#include "{name}.h"\nint {name}(void) {{ return 1; }}\n' for name in ("box", "net")},
        }
    )
    assert sorted(parts_of(data)) == ["src/box.c", "src/depot.c", "src/main.c", "src/net.c"]
    assert sorted(drawn(data)) == [
        ("src/depot.c", "", "src/box.c"),
        ("src/depot.c", "", "src/net.c"),
        ("src/depot.c", "src/main.c", "src/depot.c"),
    ]


def test_parts_that_the_entry_imports_come_ahead_of_others_like_them(describe: Describe) -> None:
    files = {
        **{f"depot/{name}.py": f"def {name}():\n    return 1\n" for name in "abcdyz"},
        "depot/cli.py": 'from depot.a import a\nfrom depot.b import b\n\n\nif __name__ == "__main__":\n    a(b())\n',
    }
    assert parts_of(describe(files))[1:3] == ["depot/b.py", "depot/a.py"]


def command(name: str, lines: int) -> str:
    return f"pub fn run() {{}}\npub struct {name.upper()} {{}}\n" + "// more\n" * lines


@pytest.mark.parametrize(("files", "is_one"), [(7, False), (8, True)])
def test_many_files_alike_beside_others_are_one_part_with_what_each_has(
    describe: Describe, files: int, is_one: bool
) -> None:
    names = [f"c{number}" for number in range(files)]
    data = describe(
        {
            "src/main.rs": "mod cmd;\nmod config;\nmod index;\nmod util;\nfn main() {}\n",
            "src/cmd/mod.rs": "".join(f"pub mod {name};\n" for name in names[1:]),
            **{f"src/cmd/{name}.rs": command(name, 40) for name in names[1:]},
            **{f"src/{name}.rs": command(name, 30) for name in ("config", "index", "util")},
        }
    )
    assert ("src/cmd" in parts_of(data)) is is_one
    if is_one:
        (part,) = [row for row in data["parts"] if row["part"] == "src/cmd"]
        assert [(row["name"], row["files"]) for row in part["alike"]] == [("run", files - 1)]


@pytest.mark.parametrize(
    ("licence", "kind"),
    [
        (LICENCE.format(holder="Ann Other"), ["taken_over"]),
        (LICENCE.format(holder="Depot Makers"), []),
        ("Everybody may copy this.\n", []),
        (LICENCE.format(holder="[name of author]"), []),
    ],
)
def test_a_folder_with_the_licence_of_somebody_else_is_no_part(
    describe: Describe, licence: str, kind: list[str]
) -> None:
    files = {
        **PACKAGE,
        "LICENSE": LICENCE.format(holder="The Depot Makers"),
        "depot/zip/LICENSE": licence,
        "depot/zip/deflate.py": "def deflate(box):\n    return box\n",
        "depot/zip.py": "from depot.zip.deflate import deflate\n",
    }
    data = describe(files)
    assert [row["kind"] for row in data["asides"] if row["folder"] == "depot/zip"] == kind
    assert ("depot/zip" in parts_of(data)) is not bool(kind)
    assert [row["text"] for row in data["asides"]] == ["Copyright (c) 2020 Ann Other"] * len(kind)


def test_a_package_with_metadata_of_its_own_is_a_part_whoever_made_it(describe: Describe) -> None:
    files = {
        "LICENSE": LICENCE.format(holder="The Depot Makers"),
        **{f"packages/{name}/package.json": f'{{"name": "{name}"}}' for name in "ab"},
        **{f"packages/{name}/index.js": "export const x = 1\n" for name in "ab"},
        "packages/a/LICENSE": LICENCE.format(holder="Ann Other"),
    }
    assert sorted(parts_of(describe(files))) == ["packages/a", "packages/b"]


@pytest.mark.parametrize(
    ("folder", "text", "kind"),
    [
        ("bundled", BUILDS_ON_IT, []),
        ("bundled", "x = 1\n", ["vendored"]),
        ("deps", "x = 1\n", ["vendored"]),
        ("contrib", BUILDS_ON_IT, []),
        ("contrib", "x = 1\n", ["contributed"]),
        ("vendor", BUILDS_ON_IT, ["vendored"]),
    ],
)
def test_a_folder_called_as_code_of_others_is_own_if_it_builds_on_the_rest(
    describe: Describe, folder: str, text: str, kind: list[str]
) -> None:
    data = describe({**PACKAGE, "depot/__init__.py": "", f"depot/{folder}/zip.py": text})
    assert [row["kind"] for row in data["asides"]] == kind
    assert (f"depot/{folder}" in parts_of(data)) is not bool(kind)
