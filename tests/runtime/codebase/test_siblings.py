"""Where one thing of a sort stands: what all of them have in common in files that list them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.records import SymbolRecord
from runtime.codebase.search.siblings.families import LEAST_MEMBERS, Family, Sibling, families_of
from runtime.codebase.search.siblings.sibling_lines import LEAST_LISTED, best_standing, pattern_of
from runtime.codebase.tools.find_precedents import find_precedents
from tests.runtime.codebase.cited import ranges_of, verify
from tests.runtime.codebase.sample_repository import write_files

COMMANDS = ("count", "sort", "join_rows", "slice")


def tool() -> dict[str, str]:
    listed = "".join(f'    "{name}": {name}.run,\n' for name in COMMANDS)
    imported = f"from commands import {', '.join(COMMANDS)}\n"
    files = {f"commands/{name}.py": f'def run(rows):\n    """Run {name}."""\n    return rows\n' for name in COMMANDS}
    return {
        **files,
        "commands/__init__.py": "",
        "main.py": f'"""Runs."""\n\n{imported}\nCOMMANDS = {{\n{listed}}}\n# sort is slow\n',
        "other.py": "sort = 1\n",
        "tests/test_sort.py": "from commands import sort\n\n\ndef test_sort():\n    sort.run([])\n",
        "README.md": "Commands: `count`, `sort`, `slice`, `join-rows`.\n",
    }


def symbol(name: str, file: str = "depot/a.py", kind: str = "class") -> SymbolRecord:
    return SymbolRecord(1, file, name, name, kind, 1, 2, 1, "", "", None)


@pytest.mark.parametrize(
    ("names", "members"),
    [
        (["DiskStore", "RedisStore", "MemoryStore"], ["DiskStore", "RedisStore", "MemoryStore"]),
        (["DiskStore", "RedisStore", "BaseStore", "IStore", "Store"], []),
        (["DiskStore", "RedisStore", "StoreKeeper"], []),
    ],
)
def test_types_that_end_in_the_word_are_a_family_and_their_bases_are_none(names: list[str], members: list[str]) -> None:
    found = families_of(["parcel", "store"], map(symbol, names), [])
    assert [{one.name for one in family.members} for family in found] == ([set(members)] if members else [])


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_so_many_make_a_family(more: int) -> None:
    paths = [f"backends/b{number}x.go" for number in range(LEAST_MEMBERS + more)]
    assert bool(families_of(["backend"], [], paths)) is (more >= 0)


@pytest.mark.parametrize(
    ("thing", "paths", "family"),
    [
        (
            "command",
            ["cmd/sort.rs", "cmd/mod.rs", "cmd/join.rs", "cmd/count.rs"],
            ("file", "cmd", ["sort", "join", "count"]),
        ),
        ("command", ["src/cmd_a.go", "src/cmd_b.go", "src/cmd_c.go", "src/x.go"], ("file", "src", ["a", "b", "c"])),
        (
            "backend",
            ["lib/backend/gs/gs.go", "lib/backend/s3/s3.go", "lib/backend/b2/b2.go", "lib/backend/util/u.go"],
            ("folder", "lib/backend", ["b2", "gs", "s3"]),
        ),
        ("command", ["tests/cmd/a.rs", "tests/cmd/b.rs", "tests/cmd/c.rs"], None),
        ("command", ["cmd/a.txt", "cmd/b.txt", "cmd/c.txt"], None),
    ],
)
def test_files_and_folders_that_are_called_so_are_a_family(
    thing: str, paths: list[str], family: tuple[str, str, list[str]] | None
) -> None:
    found = [(each.how, each.of, [one.name for one in each.members]) for each in families_of([thing], [], paths)]
    assert found == ([family] if family else [])


def test_a_family_that_bears_more_words_of_the_thing_comes_first() -> None:
    paths = [f"{folder}/{name}.go" for folder in ("web/stores", "disk/stores") for name in ("aa", "bb", "cc")]
    assert [family.of for family in families_of(["disk", "store"], [], paths)] == ["disk/stores", "web/stores"]


@pytest.mark.parametrize(
    ("how", "name", "text", "is_named"),
    [
        ("file", "sort", '    "sort" => run(),', True),
        ("file", "sort", "mod sort;", True),
        ("file", "sort", "cmd::sort::run(argv)", True),
        ("file", "sort", "SortCmd,", True),
        ("file", "sort", "rows.sort()", False),
        ("file", "join_rows", "'join-rows'", True),
        ("type", "DiskStore", "x = DiskStore()", True),
        ("type", "DiskStore", "x = MyDiskStores()", False),
        ("value", "AUTO", "case AUTO:", True),
        ("value", "AUTO", '"auto"', True),
    ],
)
def test_what_surely_names_a_thing(how: str, name: str, text: str, is_named: bool) -> None:
    family = Family(how, "src/cmd", ())  # type: ignore[arg-type]
    assert (re.search(pattern_of(family, Sibling(name, "a.rs", 1)), text) is not None) is is_named


def standing_of(files: dict[str, str], members: list[str]) -> list[tuple[str, str]]:
    family = Family("value", "Modes", tuple(Sibling(name, "modes.py", 1) for name in members))
    found = best_standing(
        [family],
        list(files),
        [],
        lambda text: [file for file, code in files.items() if text.lower() in code.lower()],
        lambda file: files[file].split("\n"),
    )
    return [] if found is None else [(file, found.one.name) for file in found.lines]


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_file_lists_things_that_names_so_many_of_them(more: int) -> None:
    names = ["alpha", "beta", "gamma", "delta"]
    listed = "\n".join(f'"{name}",' for name in names[: LEAST_LISTED + more])
    assert bool(standing_of({"a.py": listed}, names)) is (more >= 0)


def test_what_only_documents_list_is_not_told() -> None:
    names = ["alpha", "beta", "gamma"]
    listed = "\n".join(f"* `{name}`" for name in names)
    assert standing_of({"docs/a.md": listed}, names) == []
    code = "\n".join(f'"{name}",' for name in names)
    assert [file for file, _ in standing_of({"docs/a.md": listed, "a.py": code}, names)] == ["a.py", "docs/a.md"]


def test_what_is_called_so_elsewhere_does_not_count_and_a_file_called_after_it_does() -> None:
    names = ["alpha", "beta", "gamma"]
    files = {
        "a.py": "\n".join(f'"{name}",' for name in names),
        "b.py": "gamma = 1",
        "tests/test_gamma.py": "run('gamma')",
    }
    assert standing_of(files, names) == [("a.py", "gamma"), ("tests/test_gamma.py", "gamma")]


@given(names=st.lists(st.text(max_size=12), max_size=8), code=st.text(max_size=200))
def test_any_names_and_code_are_compared(names: list[str], code: str) -> None:
    for file, _ in standing_of({"a.py": code, "b.py": code}, names):
        assert file in {"a.py", "b.py"}


def test_the_tool_tells_where_one_command_stands_without_git(root: Path, opened: Callable[[Path], Codebase]) -> None:
    write_files(root, tool())
    codebase = opened(root)
    result = find_precedents(codebase, "command")
    existing = result.data["existing"]
    assert (result.status, result.data["commits"]) == ("ok", [])
    assert (existing["name"], existing["how"], existing["of"]) == ("sort", "file", "commands")
    told = {file["file"]: [line["text"] for line in file["lines"]] for file in existing["files"]}
    assert list(told) == ["main.py", "tests/test_sort.py", "README.md"]
    assert '"sort": sort.run,' in told["main.py"]
    assert not any("slow" in line for line in told["main.py"])
    assert existing["files"][0]["names"] == len(COMMANDS)
    assert verify(codebase, result.citations, ranges_of([result])) == (list(result.citations), {})


def test_a_sort_that_is_not_there_has_no_existing_one(root: Path, opened: Callable[[Path], Codebase]) -> None:
    write_files(root, tool())
    result = find_precedents(opened(root), "flying carpet")
    assert result.status == "unsupported"
    assert "existing" not in result.data
