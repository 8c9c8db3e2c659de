from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from runtime.codebase.overview.entry_points import started
from runtime.codebase.tools.describe_folder import describe_folder
from tests.repositories import write_files


def describe(tmp_path: Path, files: Mapping[str, str]) -> dict[str, Any]:
    root = tmp_path / "depot"
    write_files(root, files)
    refresh(root, tmp_path / "depot.sqlite")
    codebase = Codebase.open(root, tmp_path / "depot.sqlite")
    try:
        return describe_folder(codebase).data
    finally:
        codebase.close()


def entries_of(tmp_path: Path, files: Mapping[str, str]) -> list[tuple[str, str, str]]:
    return [(row["kind"], row["name"], row["file"]) for row in describe(tmp_path, files)["entries"]]


@pytest.mark.parametrize(
    ("path", "text", "name"),
    [
        ("depot/wsgi.py", "import os\n\napplication = make(os)\n", "application"),
        ("depot/asgi.py", "app: App = make()\n", "app"),
        ("config.ru", "require_relative 'config/environment'\n\nrun Rails.application\n", "Rails.application"),
    ],
)
def test_what_a_web_server_loads_is_an_entry(tmp_path: Path, path: str, text: str, name: str) -> None:
    assert entries_of(tmp_path, {path: text}) == [("server", name, path)]


def test_a_file_that_only_compares_or_lies_elsewhere_serves_nothing(tmp_path: Path) -> None:
    files = {"depot/wsgi.py": "if True:\n    application = 1\n", "depot/web.py": "application = make()\n"}
    assert entries_of(tmp_path, files) == []


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["FROM a", 'CMD ["./depot", "serve"]'], ("./depot serve", 2, 2)),
        (["FROM a", "CMD depot serve"], ("depot serve", 2, 2)),
        (["FROM a", 'ENTRYPOINT ["./depot"]', 'CMD ["serve"]'], ("./depot serve", 2, 3)),
        (["FROM a", "CMD old", "FROM b", "CMD new"], ("new", 4, 4)),
        (["FROM a AS base", "CMD start", "FROM base", "RUN more"], ("start", 2, 2)),
        (["FROM a", "HEALTHCHECK --retries=3 \\", "CMD curl it", "CMD start"], ("start", 4, 4)),
        (["FROM a", "RUN make"], None),
        ([], None),
    ],
)
def test_a_container_starts_what_its_last_stage_says(lines: list[str], expected: tuple[str, int, int] | None) -> None:
    found = started("Dockerfile", lines)
    assert (None if found is None else (found.name, found.start_line, found.end_line)) == expected


def test_a_procfile_starts_its_first_process() -> None:
    found = started("Procfile", ["# made by hand", "web: depot serve", "worker: depot work"])
    assert found is not None
    assert (found.name, found.start_line) == ("depot serve", 2)


def test_a_container_of_tests_is_no_entry(tmp_path: Path) -> None:
    assert entries_of(tmp_path, {"depot.py": "x = 1\n", "tests/Dockerfile": "FROM a\nCMD test\n"}) == []


def test_a_library_without_any_way_in_begins_with_the_type_that_bears_its_name(tmp_path: Path) -> None:
    files = {
        "src/main/java/shop/Depot.java": "package shop;\n\npublic class Depot {\n}\n",
        "src/main/java/shop/Box.java": "package shop;\n\npublic class Box {\n}\n",
    }
    data = describe(tmp_path, files)
    assert [(row["kind"], row["name"]) for row in data["entries"]] == [("namesake", "Depot")]
    assert [(row["reason"], row["name"]) for row in data["reading"]] == [("namesake", "Depot")]


def test_a_go_library_exports_what_its_package_at_the_top_does(tmp_path: Path) -> None:
    files = {
        "go.mod": "module example.com/depot\n\ngo 1.22\n",
        "box.go": "package depot\n\nfunc inner() {}\n\nfunc Put() {}\n",
        "depot.go": "package depot\n\ntype Depot struct {\n\tn int\n}\n\nfunc Open() {}\n\nfunc hidden() {}\n",
    }
    (row,) = describe(tmp_path, files)["entries"]
    assert (row["kind"], row["file"], row["names"]) == ("exports", "depot.go", ["Depot", "Open"])


def test_programs_of_tests_and_of_the_build_are_no_entries(tmp_path: Path) -> None:
    go = "package main\n\nfunc main() {}\n"
    found = entries_of(tmp_path, {"depot.go": go, "plugin/testing/broken/main.go": go})
    assert [file for _, _, file in found] == ["depot.go"]
    rust = {"build.rs": "fn main() {}\n", "src/main.rs": "fn main() {}\n"}
    assert [file for _, _, file in entries_of(tmp_path / "rust", rust)] == ["src/main.rs"]


def test_of_main_functions_as_deep_the_one_called_so_comes_first(tmp_path: Path) -> None:
    files = {"another.c": "int main(void) { return 0; }\n", "src/main.c": "int main(void) { return 0; }\n"}
    assert [file for _, _, file in entries_of(tmp_path, files)] == ["src/main.c", "another.c"]


MAIN = "int main(void) { return 0; }\n"


@pytest.mark.parametrize(
    "condition",
    ["#ifdef WIDE", "#if defined(WIDE)", "  # ifndef NO_TESTS", "#if A\n#if B\n#endif", "#if !defined(NO_TEST)"],
)
def test_a_main_function_that_only_some_builds_have_is_no_entry_beside_another(tmp_path: Path, condition: str) -> None:
    part = f"int turn(void);\n{condition}\n{MAIN}#endif\n"
    whole = f"#ifdef WIDE\n#include <wide.h>\n#endif\n{MAIN}"
    assert [file for _, _, file in entries_of(tmp_path, {"part.c": part, "src/wheel.c": whole})] == ["src/wheel.c"]
    assert [file for _, _, file in entries_of(tmp_path / "alone", {"part.c": part})] == ["part.c"]


@pytest.mark.parametrize(
    "condition",
    ["#ifdef TEST", "#if defined(TEST)", "#ifdef SDS_TEST_MAIN", "# if A && defined(DEMO)", "#ifdef BENCHMARK"],
)
def test_the_main_function_of_a_test_build_is_no_entry_at_all(tmp_path: Path, condition: str) -> None:
    part = f"int turn(void);\n{condition}\n{MAIN}#endif\n"
    assert entries_of(tmp_path, {"part.c": part}) == []


@pytest.mark.parametrize(("source", "expected"), [("wheel.c", ["c"]), ("wheel.cpp", ["cpp"])])
def test_headers_that_cpp_may_use_as_well_are_of_c_where_nothing_else_is_cpp(
    tmp_path: Path, source: str, expected: list[str]
) -> None:
    header = "#ifdef __cplusplus\nclass Queue { int n; };\n#endif\nstruct queue { int n; };\n"
    data = describe(tmp_path, {source: MAIN, "queue.h": header, "list.h": "struct list { int n; };\n"})
    assert [row["language"] for row in data["languages"]][:1] == expected
    assert ("cpp" in [row["language"] for row in data["languages"]]) is (expected == ["cpp"])


def test_what_exports_is_no_name_that_is_exported(tmp_path: Path) -> None:
    code = "module.exports = exports = depot.open;\nexports.default = exports;\nexports.close = depot.close;\n"
    files = {"package.json": '{"name": "depot", "main": "index.js"}', "index.js": code}
    (row,) = describe(tmp_path, files)["entries"]
    assert row["names"] == ["close"]


def test_a_script_that_a_program_has_written_is_no_entry(tmp_path: Path) -> None:
    files = {
        "bin/rake": "#!/usr/bin/env ruby\n#\n# This file was generated by Bundler.\n\nload 'rake'\n",
        "bin/depot": "#!/usr/bin/env ruby\n\nputs 1\n",
    }
    assert [name for _, name, _ in entries_of(tmp_path, files)] == ["depot"]


def test_reading_begins_at_the_file_that_a_declared_command_runs(tmp_path: Path) -> None:
    files = {
        "package.json": '{\n  "name": "depot",\n  "bin": {"depot": "./cli.js"}\n}\n',
        "cli.js": "import './a.js'\n",
        "a.js": "export const a = 1\n",
    }
    assert [(row["reason"], row["name"], row["file"]) for row in describe(tmp_path, files)["reading"]] == [
        ("command", "cli.js", "package.json")
    ]


@pytest.mark.parametrize(
    ("lines_of_core", "exporting"), [(89, "bot/index.ts"), (90, "bot/index.ts"), (91, "core/src/lib.rs")]
)
def test_what_lies_beside_a_program_of_another_language_is_not_exported_by_it(
    tmp_path: Path, lines_of_core: int, exporting: str
) -> None:
    bot = "export function handler() {}\n" + "// answers\n" * 9
    core = "pub fn evaluate() {}\n" + "// counts\n" * (lines_of_core - 1)
    files = {
        "bot/index.ts": bot,
        "bot/package.json": '{"name": "bot", "main": "index.ts"}\n',
        "core/src/lib.rs": core,
        "core/Cargo.toml": '[package]\nname = "core"\n',
    }
    assert [file for kind, _, file in entries_of(tmp_path, files) if kind == "exports"] == [exporting]
