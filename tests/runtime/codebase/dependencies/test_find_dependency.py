"""Where a dependency is declared, imported and used, in small repositories of each language."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from runtime.codebase.citation import ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.dependencies.declared import MAX_CHARS_OF_ALL, MAX_FILES, declared_requirements
from runtime.codebase.dependencies.dependency_imports import MAX_NAMES, imports_of
from runtime.codebase.dependencies.dependency_uses import MAX_USES_OF_FILE
from runtime.codebase.index.writer import refresh
from runtime.codebase.tools.find_dependency import MAX_DECLARED, MAX_MENTIONS, find_dependency
from tests.runtime.codebase.cited import ranges_of, verify
from tests.runtime.codebase.dependencies.small_repositories import (
    DOT_NET,
    GO,
    JAVA,
    KOTLIN,
    NODE,
    PHP,
    PYTHON,
    RUBY,
    RUST,
)

Open = Callable[[Mapping[str, str]], Codebase]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    with ExitStack() as stack:

        def make(files: Mapping[str, str]) -> Codebase:
            for name, text in files.items():
                path = tmp_path / "repo" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            refresh(tmp_path / "repo", tmp_path / "index.sqlite")
            return stack.enter_context(closing(Codebase.open(tmp_path / "repo", tmp_path / "index.sqlite")))

        yield make


def places(result: ToolResult, part: str) -> list[str]:
    return [f"{row['file']}:{row['line']}" for row in result.data[part]]


def all_hold(codebase: Codebase, result: ToolResult) -> bool:
    """Whether each row cites its own line, and each citation holds."""
    rows = [row for part in ("dependencies", "imports", "uses", "mentions") for row in result.data.get(part, ())]
    kept, dropped = verify(codebase, result.citations, ranges_of([result]))
    cited = [result.citations[row["citation"]] for row in rows]
    return (
        not dropped
        and len(kept) == len(rows)
        and all((row["file"], row["line"]) == (one.file, one.start_line) for row, one in zip(rows, cited, strict=True))
    )


@pytest.mark.parametrize(
    ("files", "name", "declared", "imports", "uses"),
    [
        (
            PYTHON,
            "requests",
            ["pyproject.toml:4", "pyproject.toml:10"],
            ["relay/fetch.py:1", "relay/late.py:2", "tests/test_fetch.py:2"],
            ["relay/fetch.py:8", "relay/late.py:3", "tests/test_fetch.py:8"],
        ),
        (PYTHON, "google_cloud_storage", ["pyproject.toml:5"], ["relay/fetch.py:2"], ["relay/fetch.py:21"]),
        (PYTHON, "click", ["pyproject.toml:7"], [], []),
        (PYTHON, "pytest", ["pyproject.toml:10"], ["tests/test_fetch.py:1"], ["tests/test_fetch.py:9"]),
        (GO, "pflag", ["go.mod:4"], ["main.go:5"], ["main.go:12"]),
        (GO, "cenkalti/backoff", ["go.mod:5"], ["main.go:6"], ["main.go:14"]),
        (GO, "github.com/a/sdk", ["go.mod:6"], [], []),
        (GO, "s3", ["go.mod:7"], ["main.go:7"], ["main.go:27"]),
        (GO, "pq", ["go.mod:8"], ["main.go:8"], []),
        (GO, "golang.org/x/sys", ["go.mod:9"], [], []),
        (RUST, "log", ["Cargo.toml:2"], [], ["src/main.rs:5"]),
        (RUST, "time", ["Cargo.toml:3"], [], []),
        (RUST, "serde-json", ["Cargo.toml:4"], ["src/main.rs:1"], ["src/main.rs:6"]),
        (RUST, "tiny-json", ["Cargo.toml:5"], [], ["src/main.rs:10"]),
        (RUST, "rand", ["Cargo.toml:6"], [], ["src/main.rs:12"]),
        (RUST, "nix", ["Cargo.toml:9"], ["src/main.rs:2"], ["src/main.rs:7"]),
        (NODE, "busboy", ["package.json:5"], ["lib/a.js:1"], ["lib/a.js:7"]),
        (
            NODE,
            "lodash",
            ["package.json:3", "package.json:10"],
            ["lib/a.js:2", "lib/b.mjs:4"],
            ["lib/a.js:11", "lib/b.mjs:10"],
        ),
        (NODE, "ms", ["package.json:4"], ["lib/b.mjs:5"], ["lib/b.mjs:11"]),
        (NODE, "denque", ["package.json:6"], ["lib/c.ts:1"], ["lib/c.ts:4"]),
        (RUBY, "rack", ["Gemfile:2"], ["lib/relay.rb:1"], []),
        (RUBY, "rack-test", ["Gemfile:3"], ["spec/relay_spec.rb:1"], []),
        (RUBY, "json", ["Gemfile:4"], ["lib/relay.rb:2"], []),
        (RUBY, "activesupport", ["Gemfile:5"], ["lib/relay.rb:6"], []),
        (RUBY, "relay", ["Gemfile:7"], [], []),
        (RUBY, "version", ["Gemfile:8"], [], []),
        (JAVA, "guava", ["pom.xml:2"], ["src/main/java/x/Main.java:3"], ["src/main/java/x/Main.java:9"]),
        (JAVA, "junit", ["pom.xml:3"], ["src/test/java/x/MainTest.java:3"], ["src/test/java/x/MainTest.java:8"]),
        (JAVA, "a-core", ["pom.xml:4"], ["src/main/java/x/Main.java:4"], ["src/main/java/x/Main.java:8"]),
        (JAVA, "org.a:a-test", ["pom.xml:5"], ["src/test/java/x/MainTest.java:4"], ["src/test/java/x/MainTest.java:9"]),
        (PHP, "psr/log", ["composer.json:1"], ["src/A.php:5"], ["src/A.php:18"]),
        (PHP, "parsedown", ["composer.json:1"], ["src/A.php:6"], ["src/A.php:13"]),
        (PHP, "guzzle", ["composer.json:1"], ["src/A.php:7"], ["src/A.php:14"]),
        (DOT_NET, "xunit", ["src/A/A.csproj:2"], ["src/A/A.cs:1"], []),
        (KOTLIN, "okio", ["build.gradle.kts:2"], ["src/main/kotlin/x/A.kt:3"], ["src/main/kotlin/x/A.kt:5"]),
    ],
)
def test_a_dependency_is_found_where_it_is_declared_imported_and_used(
    opened: Open, files: Mapping[str, str], name: str, declared: list[str], imports: list[str], uses: list[str]
) -> None:
    codebase = opened(files)
    result = find_dependency(codebase, name)
    assert result.status == "ok"
    assert [places(result, part) for part in ("dependencies", "imports", "uses")] == [declared, imports, uses]
    assert result.data["importing_files"] == len({place.rpartition(":")[0] for place in imports + uses})
    assert all_hold(codebase, result)


@pytest.mark.parametrize(
    ("files", "name", "mentions"),
    [
        (PYTHON, "plugin-x", ["Makefile:2"]),
        (PYTHON, "requests", []),
        (NODE, "mocha", ["package.json:13"]),
        (RUBY, "rubocop", ["Rakefile:2"]),
    ],
)
def test_what_nothing_imports_is_told_where_it_is_named(
    opened: Open, files: Mapping[str, str], name: str, mentions: list[str]
) -> None:
    codebase = opened(files)
    result = find_dependency(codebase, name)
    assert places(result, "mentions") == mentions
    assert all_hold(codebase, result)


def test_without_a_name_all_that_is_declared_is_told(opened: Open) -> None:
    codebase = opened(GO)
    result = find_dependency(codebase)
    assert [(row["name"], row["group"]) for row in result.data["dependencies"]][-2:] == [
        ("github.com/lib/pq", "runtime"),
        ("golang.org/x/sys", "indirect"),
    ]
    assert (result.status, len(result.data["dependencies"])) == ("ok", 6)
    assert all_hold(codebase, result)


def test_a_name_that_nothing_declares_is_not_found(opened: Open) -> None:
    result = find_dependency(opened(PYTHON), "flask")
    assert (result.status, result.citations) == ("not_found", ())
    assert result.error == "no metadata file of 1 declares flask"


def test_where_nothing_is_declared_the_list_is_empty(opened: Open) -> None:
    codebase = opened({"a.py": "import requests\n"})
    assert find_dependency(codebase).status == "empty"
    assert find_dependency(codebase, "requests").status == "not_found"


@pytest.mark.parametrize("name", [".*", "requests|click", "(", "[a-z]+", "\\", "\0", "a" * 300, "%", "_"])
def test_a_name_is_no_pattern(opened: Open, name: str) -> None:
    assert find_dependency(opened(PYTHON), name).status == "not_found"


@pytest.mark.parametrize("name", [".*", "a.b", "c++", "a_b%", "--exec", "-rf", "$(touch x)"])
def test_a_declared_name_that_looks_like_a_pattern_or_a_command_is_only_text(opened: Open, name: str) -> None:
    codebase = opened(
        {"package.json": json.dumps({"dependencies": {name: "1"}}), "a.js": "f()\n", "b.md": "any text\n"}
    )
    result = find_dependency(codebase, name)
    assert (result.status, result.data["imports"], result.data["uses"]) == ("ok", [], [])
    assert all_hold(codebase, result)


def test_the_part_of_a_long_line_is_told_that_has_the_name(opened: Open) -> None:
    needed = {f"name{number}": "1" for number in range(300)}
    codebase = opened({"package.json": json.dumps({"dependencies": needed})})
    result = find_dependency(codebase, "name250")
    assert '"name250"' in result.data["dependencies"][0]["text"]
    assert all_hold(codebase, result)


def test_the_metadata_of_examples_counts_only_where_there_is_no_other(opened: Open) -> None:
    example = {"examples/requirements.txt": "flask\n"}
    assert find_dependency(opened(example), "flask").status == "ok"
    assert find_dependency(opened({**example, "requirements.txt": "rich\n"}), "flask").status == "not_found"


@pytest.mark.parametrize(("more", "status"), [(-1, "ok"), (0, "ok"), (1, "partial")])
def test_so_many_results_are_told_and_that_there_are_more(opened: Open, more: int, status: str) -> None:
    asked = 5
    imports = {f"m{number}.py": "import rich\n\nrich.print()\n" for number in range(asked + more)}
    result = find_dependency(opened({"requirements.txt": "rich\n", **imports}), "rich", max_results=asked)
    assert (result.status, len(result.data["imports"]), len(result.data["uses"])) == (
        status,
        *[min(asked, asked + more)] * 2,
    )
    assert result.data["importing_files"] == asked + more
    names = "\n".join(f"name{number}" for number in range(asked + more - 1))
    all_of_them = find_dependency(opened({"requirements.txt": f"rich\n{names}\n"}), max_results=asked)
    assert (all_of_them.status, len(all_of_them.data["dependencies"])) == (status, min(asked, asked + more))


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_so_many_declarations_and_mentions_are_told(opened: Open, more: int) -> None:
    files = {f"p{number}/requirements.txt": "rich\n" for number in range(MAX_DECLARED + more)}
    notes = "\n".join(["It is rich."] * (MAX_MENTIONS + more))
    result = find_dependency(opened({**files, "notes.md": notes}), "rich")
    assert len(result.data["dependencies"]) == min(MAX_DECLARED, MAX_DECLARED + more)
    assert len(result.data["mentions"]) == min(MAX_MENTIONS, MAX_MENTIONS + more)


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_so_many_uses_of_a_file_are_told_one_of_each_definition(opened: Open, more: int) -> None:
    functions = "".join(
        f"\n\ndef f{number}():\n    rich.print()\n    rich.print()\n" for number in range(MAX_USES_OF_FILE + more)
    )
    result = find_dependency(opened({"requirements.txt": "rich\n", "a.py": f"import rich\n{functions}"}), "rich")
    told = [row["enclosing"] for row in result.data["uses"]]
    assert told == [f"f{number}" for number in range(min(MAX_USES_OF_FILE, MAX_USES_OF_FILE + more))]


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_so_many_metadata_files_are_read_those_near_the_root_first(opened: Open, more: int) -> None:
    files = {f"p{number:02}/requirements.txt": f"name{number}\n" for number in range(MAX_FILES - 1 + more)}
    found = declared_requirements(opened({**files, "requirements.txt": "rich\n"}))
    assert found[0].name == "rich"
    assert len(found) == min(MAX_FILES, MAX_FILES + more)


@pytest.mark.parametrize(("more", "last"), [(-1, True), (0, True), (1, False)])
def test_all_metadata_files_together_have_so_many_characters(opened: Open, more: int, last: bool) -> None:
    filler = "#" * 99 + "\n"
    count, size = 4, MAX_CHARS_OF_ALL // 4
    files = {f"p{n}/requirements.txt": "name\n" + filler * ((size - 4) // 99) for n in range(count)}
    used = sum(len(text) - text.count("\n") for text in files.values())
    files["q/requirements.txt"] = "last\n" + "#" * (MAX_CHARS_OF_ALL - used - 4 + more) + "\n"
    names = {each.name for each in declared_requirements(opened(files))}
    assert ("last" in names) is last


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_so_many_spellings_of_one_name_are_looked_for(opened: Open, more: int) -> None:
    names = [f"a{'-' * (number // 3)}{'-_.'[number % 3]}b" for number in range(MAX_NAMES + more)]
    modules = "".join(f"import {name}\n" for name in ("a_b", "rich"))
    codebase = opened({"requirements.txt": "\n".join([*names, "rich"]), "m.py": modules})
    own = [each for each in declared_requirements(codebase) if each.name != "rich"]
    assert len(own) == MAX_NAMES + more
    assert [each.line for each in imports_of(codebase, own)] == [1]
    alone = [*own[:-1], *(each for each in declared_requirements(codebase) if each.name == "rich")]
    assert [each.line for each in imports_of(codebase, alone)] == ([1, 2] if more <= 0 else [1])


def test_a_repository_that_declares_as_much_as_it_can_is_answered_soon(opened: Open) -> None:
    names = [f"a{number % 40}-{'x' * (number % 7)}{number}" for number in range(400)]
    files = {
        f"p{n}/package.json": json.dumps({"dependencies": {f"{name}-{n}": "1" for name in names}}) for n in range(60)
    }
    files["a.js"] = "".join(f"const b{number} = require('a{number % 40}-{number}')\n" for number in range(5_000))
    files["package.json"] = '{"dependencies": {"a1": "1"}}'
    codebase = opened(files)
    started_s = time.process_time()
    assert find_dependency(codebase, "a1").status == "ok"
    assert time.process_time() - started_s < 10
