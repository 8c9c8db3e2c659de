from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from runtime.codebase.citation import ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from runtime.codebase.overview.purposes import project_names
from runtime.codebase.search.prose.sentences import holds
from runtime.codebase.tools.describe_folder import describe_folder
from tests.repositories import write_files

Describe = Callable[..., ToolResult]

DEPOT = {
    "README.md": "# Depot\n\nDepot is a store for boxes.\n\n## Install\n\nUse the usual installer.\n",
    "pyproject.toml": '[project]\nname = "depot"\n[project.scripts]\ndepot = "depot.cli:main"\n',
    "depot/__init__.py": '"""Stores boxes."""\n\nfrom depot.store.shelf import Shelf\n\n__all__ = ["Shelf"]\n',
    "depot/cli.py": '"""Parses commands."""\n\nfrom depot.store.shelf import Shelf\n\n\ndef main():\n    Shelf\n',
    "depot/store/__init__.py": '"""Keeps boxes on shelves."""\n',
    "depot/store/shelf.py": "class Shelf:\n    def put(self, box):\n        pass\n\n\ndef unused():\n    pass\n",
    "depot/net/__init__.py": "",
    "depot/net/wire.py": "from depot.store.shelf import Shelf\n\n\nclass Wire:\n    shelf = Shelf()\n",
    "depot/net/client.py": "from depot.net.wire import Wire\nfrom depot.store.shelf import Shelf\n\nWire(Shelf)\n",
    "tests/test_shelf.py": "from depot.store.shelf import Shelf\n\n\ndef test_put():\n    assert Shelf()\n",
    "examples/hello.py": "from depot import Shelf\n\nShelf()\n",
    "vendor/zip/zip.py": "class Zip:\n    pass\n",
    "docs/architecture.md": "# How it is built\n\nBoxes lie on shelves.\n",
}


@pytest.fixture
def describe(tmp_path: Path) -> Iterator[Describe]:
    opened: list[Codebase] = []

    def of(files: Mapping[str, str], path: str = ".", *, name: str = "depot", **given: int) -> ToolResult:
        root = tmp_path / name
        write_files(root, files)
        refresh(root, tmp_path / f"{name}.sqlite")
        opened.append(Codebase.open(root, tmp_path / f"{name}.sqlite"))
        result = describe_folder(opened[-1], path, **given)
        for row in (*result.data.get("purpose", ()), *result.data.get("parts", ())):
            if row["text"]:
                cited = result.citations[row["citation"]]
                lines = opened[-1].read_lines(cited.file, cited.start_line, cited.end_line)
                assert holds(lines, row["text"]), row
        return result

    yield of
    for codebase in opened:
        codebase.close()


def parts_of(result: ToolResult) -> dict[str, str]:
    return {row["part"]: row["text"] for row in result.data["parts"]}


def test_a_repository_is_described_by_its_readme_its_parts_and_its_entries(describe: Describe) -> None:
    result = describe(DEPOT)
    data = result.data
    assert result.status == "ok"
    assert [row["text"] for row in data["purpose"]] == ["Depot is a store for boxes."]
    assert parts_of(result) == {
        "depot/cli.py": "Parses commands.",
        "depot/net": "",
        "depot/store": "Keeps boxes on shelves.",
    }
    assert [(row["kind"], row["name"]) for row in data["entries"]] == [
        ("command", "depot"),
        ("exports", "depot/__init__.py"),
    ]
    assert {row["folder"]: row["kind"] for row in data["asides"]} == {
        "docs": "docs",
        "examples": "example",
        "tests": "test",
        "vendor": "vendored",
    }


def test_edges_count_the_files_that_import_and_cite_one_import(describe: Describe) -> None:
    result = describe(DEPOT)
    edges = {(row["source"], row["target"]): row for row in result.data["edges"]}
    assert {pair: row["files"] for pair, row in edges.items()} == {
        ("depot/cli.py", "depot/store"): 1,
        ("depot/net", "depot/store"): 2,
    }
    cited = result.citations[edges["depot/net", "depot/store"]["citation"]]
    assert (cited.file, cited.quote) == ("depot/net/client.py", "from depot.store.shelf import Shelf")


def test_a_part_without_a_sentence_has_the_names_that_others_use(describe: Describe) -> None:
    files = {**DEPOT, "depot/store/__init__.py": "# Shelf is of no use here\n", "depot/cli.py": "import depot.store\n"}
    rows = {row["part"]: row for row in describe(files).data["parts"]}
    assert [(used["name"], used["files"]) for used in rows["depot/store"]["names"]] == [("Shelf", 3), ("unused", 0)]


def test_a_name_in_a_comment_or_string_is_no_use(describe: Describe) -> None:
    files = {**DEPOT, "depot/store/__init__.py": ""}
    files["depot/cli.py"] = 'import depot.store.shelf\n\n# unused\nNAME = "unused"\n\n"""\nunused\n"""\n'
    rows = {row["part"]: row for row in describe(files).data["parts"]}
    assert ("unused", 0) in [(used["name"], used["files"]) for used in rows["depot/store"]["names"]]


def test_a_folder_is_described_by_what_lies_below_it(describe: Describe) -> None:
    result = describe(DEPOT, "depot/store")
    assert [row["text"] for row in result.data["purpose"]] == ["Keeps boxes on shelves."]
    assert list(parts_of(result)) == ["depot/store/shelf.py"]
    assert describe(DEPOT, "net").data["path"] == "depot/net"
    assert describe(DEPOT, "depot.net").data["path"] == "depot/net"
    assert describe(DEPOT, "nowhere").status == "not_found"
    assert describe(DEPOT, "../..").status == "denied"


def test_a_folder_of_tests_is_made_of_them(describe: Describe) -> None:
    assert list(parts_of(describe(DEPOT, "tests"))) == ["tests/test_shelf.py"]


@pytest.mark.parametrize(("limit", "shown"), [(2, 2), (3, 3), (4, 3)])
def test_parts_are_cut_at_the_limit_and_all_are_counted(describe: Describe, limit: int, shown: int) -> None:
    result = describe(DEPOT, max_parts=limit)
    assert (len(result.data["parts"]), result.data["parts_total"]) == (shown, 3)
    assert result.truncated is (limit < 3)


def test_without_a_readme_the_metadata_and_the_code_say_what_it_is(describe: Describe) -> None:
    files = {path: text for path, text in DEPOT.items() if path != "README.md"}
    assert [row["text"] for row in describe(files).data["purpose"]] == ["Stores boxes."]
    files["pyproject.toml"] = '[project]\nname = "depot"\ndescription = "A store of crates"\n'
    told = [(row["source"], row["text"]) for row in describe(files).data["purpose"]]
    assert told == [("pyproject.toml", "A store of crates"), ("depot/__init__.py", "Stores boxes.")]


def test_a_readme_of_html_alone_is_not_quoted(describe: Describe) -> None:
    html = "<h1>Depot</h1>\n<p>Depot is a store for boxes.</p>\n"
    assert [row["source"] for row in describe({**DEPOT, "README.md": html}).data["purpose"]] == ["depot/__init__.py"]


def test_a_readme_of_five_megabytes_costs_nothing(describe: Describe) -> None:
    files = {**DEPOT, "README.md": "Depot is a store for boxes.\n\n" + "word " * 1_000_000}
    assert [row["source"] for row in describe(files).data["purpose"]] == ["depot/__init__.py"]


def test_a_readme_that_is_a_link_is_not_read(describe: Describe, tmp_path: Path) -> None:
    outside = tmp_path / "secret.md"
    outside.write_text("Depot is a store for secrets.\n")
    files = {path: text for path, text in DEPOT.items() if path != "README.md"}
    write_files(tmp_path / "depot", files)
    (tmp_path / "depot" / "README.md").symlink_to(outside)
    assert "secrets" not in str(describe(files).data)


def test_a_repository_of_one_file_is_that_file(describe: Describe) -> None:
    result = describe({"depot.py": '"""Stores boxes."""\n\n\nclass Depot:\n    pass\n'})
    assert parts_of(result) == {"depot.py": "Stores boxes."}
    assert [row["text"] for row in result.data["purpose"]] == ["Stores boxes."]
    assert [row["reason"] for row in result.data["reading"]] == ["largest"]


def test_a_repository_of_documents_has_documents_as_parts(describe: Describe) -> None:
    result = describe({"guide.md": "# How to store\n\ntext\n", "more/crates.md": "# On crates\n\ntext\n"})
    assert parts_of(result) == {"guide.md": "How to store", "more/crates.md": "On crates"}
    assert result.data["languages"] == []


def test_an_empty_repository_has_nothing_to_describe(describe: Describe) -> None:
    assert describe({".keep": ""}).status == "empty"


@pytest.mark.long
def test_packages_of_a_monorepo_are_its_parts_and_are_all_counted(describe: Describe) -> None:
    files = {"package.json": '{"name": "all", "description": "Three hundred packages"}'}
    for number in range(300):
        folder = f"packages/p{number:03d}"
        files[f"{folder}/package.json"] = (
            f'{{\n  "name": "p{number}",\n  "description": "Moves box {number} about"\n}}\n'
        )
        files[f"{folder}/src/index.js"] = "export function move() {}\n" * (number + 1)
    started_s = time.process_time()
    result = describe(files)
    assert time.process_time() - started_s < 20
    assert result.data["parts_total"] == 300
    assert parts_of(result)["packages/p299"] == "Moves box 299 about"


def test_metadata_that_is_malformed_declares_nothing(describe: Describe) -> None:
    files = {
        **DEPOT,
        "pyproject.toml": "[project\n",
        "package.json": "{" * 90_000,
        "setup.cfg": "====\n",
        "pom.xml": "<",
    }
    assert [row["kind"] for row in describe(files).data["entries"]] == ["exports"]


@pytest.mark.parametrize("name", ["a_easyjson.go", "a.pb.go", "zz_generated.deepcopy.go", "a_gen.go", "a.gen.go"])
def test_go_that_a_program_makes_is_no_part(describe: Describe, name: str) -> None:
    files = {"box.go": "package box\n\ntype Box struct{}\n", f"deep/{name}": "package deep\n\nfunc A() {}\n" * 9}
    assert list(parts_of(describe(files))) == ["box.go"]


def test_a_main_function_that_lies_less_deep_comes_first(describe: Describe) -> None:
    main = "package main\n\nfunc main() {\n}\n"
    box = "package lib\n\ntype Box struct{}\n"
    result = describe({"a/cmd/echo/main.go": main, "main.go": main, "lib/box.go": box})
    assert [row["file"] for row in result.data["entries"]] == ["main.go", "a/cmd/echo/main.go"]
    assert result.data["reading"][0]["file"] == "main.go"


def test_what_a_library_exports_is_read_before_a_program_that_lies_deeper(describe: Describe) -> None:
    library = {"src/lib.rs": "pub fn put() {}\n", "helper/src/main.rs": "fn main() {\n}\n"}
    result = describe(library)
    assert [row["kind"] for row in result.data["entries"]] == ["main", "exports"]
    assert result.data["reading"][0]["reason"] == "exports"


def test_the_program_that_is_called_as_the_project_comes_first_of_scripts(describe: Describe) -> None:
    script = "#!/usr/bin/env ruby\n# Quiet some warnings we see\nputs 1\n"
    files = {"README.md": "# Depot\n\nPuts boxes away.\n", "lib/depot.rb": "class Depot\nend\n"}
    result = describe({**files, "bin/adder": script, "bin/depot": script})
    assert [row["name"] for row in result.data["entries"]] == ["depot", "adder", "Depot"]
    assert [row["text"] for row in result.data["purpose"]] == ["Puts boxes away."]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("Keeps boxes. This library does not\nuse memory.", ["Keeps boxes."]),
        ("Keeps boxes. This library does not", ["Keeps boxes. This library does not"]),
        ("A store for boxes\n\nIt uses memory.", ["A store for boxes"]),
        ("A store that keeps boxes\nin memory.", []),
    ],
)
def test_a_description_of_several_lines_is_not_cut_within_a_sentence(
    describe: Describe, told: str, expected: list[str]
) -> None:
    manifest = f'[package]\nname = "depot"\ndescription = """\n{told}"""\n'
    result = describe({"Cargo.toml": manifest, "src/lib.rs": "pub fn put() {}\n"})
    assert [row["text"] for row in result.data["purpose"]] == expected


@pytest.mark.parametrize(
    ("summary", "expected"),
    [
        ("'Keeps boxes. Works with powerful' \\\n    'shelves.'", ["Keeps boxes."]),
        ("'Keeps boxes of'", ["Keeps boxes of"]),
    ],
)
def test_a_summary_that_goes_on_in_the_next_line_is_not_cut_within_a_sentence(
    describe: Describe, summary: str, expected: list[str]
) -> None:
    gemspec = f"Gem::Specification.new do |s|\n  s.name = 'depot'\n  s.summary = {summary}\nend\n"
    result = describe({"depot.gemspec": gemspec, "lib/shelf.rb": "class Shelf\nend\n"})
    assert [row["text"] for row in result.data["purpose"]] == expected


@pytest.mark.parametrize(
    "said",
    [
        "© Jo Doe, all of 2010 and later",
        "(c) Jo Doe, all of 2010",
        "If you are looking for the readme, see there instead.",
    ],
)
def test_who_owns_it_and_where_else_to_look_is_no_purpose(describe: Describe, said: str) -> None:
    files = {
        "README.md": f"# Shelves\n\n{said}\n\nBoxes are put on shelves here.\n",
        "lib/shelf.rb": "class Shelf\nend\n",
    }
    assert [row["text"] for row in describe(files).data["purpose"]] == ["Boxes are put on shelves here."]


def test_a_python_file_that_can_be_run_is_an_entry(describe: Describe) -> None:
    guard = "\n\nif __name__ == '__main__':\n    put()\n"
    files = {"deep/shelf/run.py": f"def put():\n    pass{guard}", "manage.py": f"def put():\n    pass{guard}"}
    result = describe({**files, "shelf.py": "class Shelf:\n    name = '__main__'\n"})
    assert [(row["kind"], row["file"]) for row in result.data["entries"]] == [
        ("script", "manage.py"),
        ("script", "deep/shelf/run.py"),
    ]


@pytest.mark.parametrize(
    ("target", "file"),
    [
        ("depot.cli:main", "depot/cli.py"),
        ("depot.cli:lost", "depot/__init__.py"),
        ("depot.gone:main", "depot/__init__.py"),
        ("depot", "depot/__init__.py"),
    ],
)
def test_reading_begins_where_a_declared_command_does(describe: Describe, target: str, file: str) -> None:
    declared = f'[project]\nname = "depot"\n[project.scripts]\ndepot = "{target}"\n'
    files = {path: text for path, text in DEPOT.items() if not path.startswith("docs/")}
    assert describe({**files, "pyproject.toml": declared}).data["reading"][0]["file"] == file


def test_a_module_that_is_called_as_the_function_of_a_command_is_not_taken_for_it(describe: Describe) -> None:
    declared = '[project]\nname = "depot"\n[project.scripts]\ndepot = "depot.main:main"\n'
    main = '"""Runs it."""\n\n\ndef main():\n    pass\n'
    result = describe({"pyproject.toml": declared, "depot/main.py": main})
    cited = result.citations[result.data["reading"][0]["citation"]]
    assert (cited.file, cited.start_line) == ("depot/main.py", 4)


@pytest.mark.parametrize(
    "mark", ["rubocop:disable Metrics/ClassLength", "noqa: E501", "pylint: disable=all", "eslint-disable no-console"]
)
def test_what_a_linter_reads_describes_no_part(describe: Describe, mark: str) -> None:
    result = describe({"lib/depot.rb": f"# {mark}\nclass Depot\nend\n", "lib/shelf.rb": "class Shelf\nend\n"})
    assert set(parts_of(result).values()) == {""}


def test_an_address_alone_describes_no_part(describe: Describe) -> None:
    comment = "# https://boxes.example/shelves https://boxes.example/tree\n"
    result = describe({"lib/depot.rb": f"{comment}class Depot\nend\n", "lib/shelf.rb": "class Shelf\nend\n"})
    assert set(parts_of(result).values()) == {""}


def test_generated_code_is_no_part(describe: Describe) -> None:
    result = describe({**DEPOT, "generated/wire_pb2.py": "class Wire:\n    pass\n" * 200})
    assert "generated" not in str(parts_of(result))
    assert ("generated", "generated") in [(row["folder"], row["kind"]) for row in result.data["asides"]]


def test_a_file_that_speaks_for_the_folder_beside_it_is_one_part_with_it(describe: Describe) -> None:
    files = {
        "Cargo.toml": '[package]\nname = "depot"\n',
        "src/lib.rs": "//! Stores boxes.\n\npub mod shelf;\npub mod wire;\n",
        "src/shelf.rs": "//! Keeps boxes on shelves.\n\npub mod rail;\npub struct Shelf;\n" + 9 * "\n",
        "src/shelf/rail.rs": "pub struct Rail;\n",
        "src/wire.rs": "use crate::shelf::Shelf;\n\npub fn send(shelf: Shelf) {}\n",
    }
    result = describe(files)
    assert parts_of(result) == {"src/shelf": "Keeps boxes on shelves.", "src/wire.rs": ""}
    assert [(row["source"], row["target"]) for row in result.data["edges"]] == [("src/wire.rs", "src/shelf")]
    assert [row["names"] for row in result.data["entries"]] == [["shelf", "wire"]]


@pytest.mark.parametrize(
    ("doc", "expected"),
    [
        ("/// <summary>\n/// Holds all boxes.\n/// </summary>\n", "Holds all boxes."),
        ("/// See the shelf. Holds all boxes.\n", "Holds all boxes."),
    ],
    ids=["tags", "pointer"],
)
def test_markup_and_pointers_are_not_what_a_part_says(describe: Describe, doc: str, expected: str) -> None:
    files = {"Depot.cs": f"{doc}public class Depot {{\n}}\n", "Shelf.cs": "public class Shelf {\n}\n"}
    assert parts_of(describe(files))["Depot.cs"] == expected


def test_pieces_of_one_definition_are_one_part(describe: Describe) -> None:
    piece = "public partial class Depot {\n}\n"
    files = {"Depot.cs": f"/// Holds all boxes.\n{piece}", "Depot.Async.cs": piece, "Shelf.cs": "class Shelf {\n}\n"}
    assert parts_of(describe(files)) == {"Depot.cs": "Holds all boxes.", "Shelf.cs": ""}


def test_only_the_outermost_package_exports_to_its_users(describe: Describe) -> None:
    files = {**DEPOT, "depot/__init__.py": "", "depot/net/__init__.py": "from depot.net.wire import Wire\n"}
    assert [row["kind"] for row in describe(files).data["entries"]] == ["command"]


def test_code_in_another_language_than_the_package_comes_behind(describe: Describe) -> None:
    taken = "".join(f"function f{number}() {{ return {number}; }}\n" for number in range(20))
    result = describe({**DEPOT, "depot/assets/search.js": taken})
    assert [row["language"] for row in result.data["languages"]] == ["python", "javascript"]
    assert next(iter(parts_of(result))) != "depot/assets"


@pytest.mark.parametrize(
    "path",
    [
        *("src/testFixtures/java/Boxes.py", "karma.conf.cjs", "cmake/check.c", "runtests.py", "__testfixtures__/x.js"),
        *("xtask/src/main.rs", "fuzz/boxes.rs", "shop/migrations/first.py", "shop/tests_e2e/all.py", "release.py"),
    ],
)
def test_fixtures_and_tooling_are_no_parts(describe: Describe, path: str) -> None:
    told = parts_of(describe({**DEPOT, path: "int main(void) { return 0; }\n"}))
    assert not any(path.startswith(part) for part in told)


def test_the_namespace_of_all_files_is_no_name_of_a_part(describe: Describe) -> None:
    files = {
        f"lib/depot/part{number}.rb": f"module Depot\n  class Part{number}\n    def go\n    end\n  end\nend\n"
        for number in range(6)
    }
    names = [used["name"] for row in describe(files).data["parts"] for used in row["names"]]
    assert names
    assert "Depot" not in names


def test_a_project_is_called_by_its_folder_and_metadata_unless_a_definition_bears_the_name(tmp_path: Path) -> None:
    files = {"pyproject.toml": '[project]\nname = "@x/store-kit"\n', "a.py": "class Depot:\n    pass\n"}
    write_files(tmp_path / "depot", files)
    refresh(tmp_path / "depot", tmp_path / "i.sqlite")
    codebase = Codebase.open(tmp_path / "depot", tmp_path / "i.sqlite")
    assert project_names(codebase) == {"@x/store-kit": False, "depot": False, "store-kit": False, "Depot": True}
    codebase.close()


def purposes_of(result: ToolResult) -> list[tuple[str, str]]:
    return [(row["source"], row["text"]) for row in result.data["purpose"]]


def test_a_readme_kept_for_the_forge_speaks_where_the_other_says_nothing(describe: Describe) -> None:
    files = {"README.md": "# Depot\n\nThis readme is for developers.\n", "a.py": "x = 1\n"}
    files[".github/README.md"] = "# Depot\n\nDepot is a store for boxes.\n"
    assert purposes_of(describe(files)) == [(".github/README.md", "Depot is a store for boxes.")]


def test_a_description_behind_the_modules_of_a_pom_is_read(describe: Describe) -> None:
    pom = (
        "<project>\n<parent>\n<description>Of the parent.</description>\n</parent>\n"
        "<modules>\n<module>a</module>\n</modules>\n"
        "<artifactId>depot</artifactId>\n<description>Keeps boxes on shelves.</description>\n"
        "<dependencies>\n<dependency><description>Of another.</description></dependency>\n</dependencies>\n</project>\n"
    )
    result = describe({"pom.xml": pom, "a/A.java": "class A {}\n"})
    assert purposes_of(result) == [("pom.xml", "Keeps boxes on shelves.")]


@pytest.mark.parametrize(
    ("readme", "expected"),
    [
        (
            "Table of Contents\n=====\n\nIntroduction\n-----\n\nIt keeps boxes on shelves.\n",
            "It keeps boxes on shelves.",
        ),
        ("# Depot\n\n<i>A store for many boxes.</i>\n", "A store for many boxes."),
        (
            "### Depot Shop [![build status](https://a.b/c.svg)](https://a.b)\n\nIt keeps boxes.\n\n## More\n",
            "It keeps boxes.",
        ),
        ("# Depot\n\nShops have a lot of boxes. Depot is a store for boxes.\n", "Depot is a store for boxes."),
        ("# Depot\n\nA simple store for boxes. For this, no other store existed.\n", "A simple store for boxes."),
    ],
)
def test_what_it_is_is_found_below_odd_headings_marks_and_other_sentences(
    describe: Describe, readme: str, expected: str
) -> None:
    assert purposes_of(describe({"README.md": readme, "a.py": "x = 1\n"})) == [("README.md", expected)]


def test_an_installation_below_the_name_is_no_purpose(describe: Describe) -> None:
    readme = "## Depot installation\n\nIt is put on the shelf.\n\n# More\n"
    assert purposes_of(describe({"README.md": readme, "a.py": "x = 1\n"})) == []


@pytest.mark.parametrize(
    ("user", "count"),
    [
        ("from depot.store import Shelf\n", 1),
        ("from depot import store\n\nstore.Shelf()\n", 1),
        ("import depot.store\n\ndepot.store.Shelf()\n", 1),
        ("from depot.store import *\n\nShelf()\n", 1),
        ("from depot.store import put\n\nput(Shelf=1)\n", 0),
        ("from depot.store import put\n\nput().Shelf\n", 0),
    ],
)
def test_a_name_is_used_where_it_is_imported_or_stands_behind_its_module(
    describe: Describe, user: str, count: int
) -> None:
    files = {
        "depot/__init__.py": "",
        "depot/store.py": "class Shelf:\n    pass\n\n\ndef put(box):\n    return box\n",
        "depot/user.py": user,
    }
    (part,) = [row for row in describe(files).data["parts"] if row["part"] == "depot/store.py"]
    assert [row["files"] for row in part["names"] if row["name"] == "Shelf"] == [count]


@pytest.mark.parametrize(("use", "count"), [("struct box *b;", 1), ("int box = 1;", 0), ("a.box = 1;", 0)])
def test_a_structure_of_c_is_used_behind_its_word(describe: Describe, use: str, count: int) -> None:
    files = {
        "box.h": "struct box {\n    int size;\n};\n",
        "main.c": f'#include "box.h"\n\nint main(void) {{\n    {use}\n    return 0;\n}}\n',
    }
    (part,) = [row for row in describe(files).data["parts"] if row["part"] == "box.h"]
    assert [row["files"] for row in part["names"] if row["name"] == "box"] == [count]


def test_a_name_in_another_language_is_no_use(describe: Describe) -> None:
    files = {
        "ui/serve.go": "package ui\n\nfunc Register() {}\n",
        "ui/header.ts": "export class Header {}\n",
        "go.mod": "module a.b/depot\n\ngo 1.22\n",
        "router/router.go": 'package router\n\nimport "a.b/depot/ui"\n\nfunc G(c C) { ui.Register(); c.Header() }\n',
        "main.go": "package main\n\nfunc main() {}\n",
    }
    (part,) = [row for row in describe(files).data["parts"] if row["part"] == "ui"]
    assert {row["name"]: row["files"] for row in part["names"]} == {"Register": 1, "Header": 0}


def test_a_container_of_packages_with_metadata_of_its_own_is_opened(describe: Describe) -> None:
    files = {f"utils/{name}/pom.xml": "<project/>" for name in ("mock", "render")}
    files |= {f"utils/{name}/A.java": "class A {}\n" for name in ("mock", "render")}
    files |= {"utils/pom.xml": "<project/>", "core/B.java": "class B {}\n"}
    assert sorted(parts_of(describe(files))) == ["core", "utils/mock", "utils/render"]


def test_a_container_is_no_part_of_documents(describe: Describe) -> None:
    result = describe({"README.md": "# Handbook\n\nHow we work.\n", "Dockerfile": "FROM a\nCMD serve\n"})
    assert [row["kind"] for row in result.data["parts"]] == ["document"]


@pytest.mark.parametrize(
    ("path", "is_part"),
    [
        ("db/migrate/a.rb", False),
        ("db/old_migrations/a.rb", False),
        ("app/migrations/a.rb", False),
        ("c/migrate/a.rb", True),
    ],
)
def test_migrations_of_data_are_no_parts(describe: Describe, path: str, is_part: bool) -> None:
    files = {path: "class Box\nend\n", "app/models/box.rb": "class Shelf\nend\n", "lib/b.rb": "class Rail\nend\n"}
    folders = [row["folder"] for row in describe(files).data["asides"]]
    assert (path.rpartition("/")[0] not in folders) is is_part
