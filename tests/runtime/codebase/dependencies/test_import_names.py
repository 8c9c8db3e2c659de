"""Which imports are of a dependency, and by which names a file then speaks of it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.dependencies.bound_names import MAX_CHARS, MAX_LINES, bound_names
from runtime.codebase.dependencies.import_names import fit, module_names
from runtime.codebase.dependencies.requirement import Ecosystem, Requirement, short_names
from runtime.codebase.index.records import ImportRecord

ECOSYSTEMS: tuple[Ecosystem, ...] = (
    *("pypi", "go", "crates", "npm", "composer", "rubygems", "maven", "nuget", "system"),
)


def required(ecosystem: Ecosystem, name: str, alias: str = "") -> Requirement:
    return Requirement(name, "file", 1, "runtime", ecosystem, alias)


def imported(module: str, name: str = "", alias: str = "", target: str | None = None, line: int = 1) -> ImportRecord:
    return ImportRecord("file", line, module, name, alias, target)


@pytest.mark.parametrize(
    ("ecosystem", "name", "module", "is_one"),
    [
        ("pypi", "requests", "requests", True),
        ("pypi", "Requests", "requests.auth", True),
        ("pypi", "requests", "requests_toolbelt", False),
        ("pypi", "requests", ".requests", False),
        ("pypi", "requests-toolbelt", "requests_toolbelt", True),
        ("pypi", "zope.interface", "zope.interface", True),
        ("pypi", "zope.interface", "zope.event", False),
        ("pypi", "paho-mqtt", "paho.mqtt.client", True),
        ("pypi", "PyYAML", "yaml", True),
        ("pypi", "PyYAML", "pyyaml", False),
        ("pypi", "attrs", "attr", True),
        ("pypi", "importlib-metadata", "importlib.metadata", False),
        ("pypi", "importlib-metadata", "importlib_metadata", True),
        ("go", "github.com/spf13/pflag", "github.com/spf13/pflag", True),
        ("go", "golang.org/x/sync", "golang.org/x/sync/errgroup", True),
        ("go", "golang.org/x/sync", "golang.org/x/syncmap", False),
        ("go", "github.com/a/b/v4", "github.com/a/b", False),
        ("crates", "cookie-store", "cookie_store::Cookie", True),
        ("crates", "log", "log", True),
        ("crates", "log", "::log::Level", True),
        ("crates", "log", "logger::log", False),
        ("crates", "log", "crate::log", False),
        ("crates", "serde_json", "serde_jsonasjson", True),
        ("crates", "time", "timeout", False),
        ("npm", "lodash", "lodash/fp", True),
        ("npm", "lodash", "lodash.clonedeep", False),
        ("npm", "@types/express", "express", True),
        ("npm", "@scope/a", "@scope/a/b", True),
        ("npm", "a", "./a", False),
        ("composer", "symfony/console", r"Symfony\Component\Console\Application", True),
        ("composer", "symfony/console", r"Symfony\Component\Process\Process", False),
        ("composer", "symfony/phpunit-bridge", r"Symfony\Bridge\PhpUnit\Clock", True),
        ("composer", "monolog/monolog", r"Monolog\Logger", True),
        ("composer", "guzzlehttp/guzzle", r"GuzzleHttp\Client", True),
        ("composer", "psr/log", r"Psr\Log\LoggerInterface", True),
        ("composer", "psr/log", r"Psr\Http\Message", False),
        ("composer", "erusev/parsedown", "Parsedown", True),
        ("rubygems", "rack-test", "rack/test", True),
        ("rubygems", "multi_xml", "multi_xml", True),
        ("rubygems", "activesupport", "active_support/core_ext", True),
        ("rubygems", "json", "json_schema", False),
        ("maven", "org.junit.jupiter:junit-jupiter-api", "org.junit.jupiter.api.Test", True),
        ("maven", "junit:junit", "org.junit.Test", True),
        ("maven", "com.google.guava:guava", "com.google.common.collect", True),
        ("maven", "com.google.auto:auto-common", "com.google.common.collect", False),
        ("maven", "com.google.googlejavaformat:google-java-format", "com.google.common.io", False),
        ("maven", "com.google.code.gson:gson", "com.google.gson.Gson", True),
        ("maven", "com.squareup.okio:okio", "okio.Buffer", True),
        ("maven", "com.fasterxml.jackson.core:jackson-databind", "com.fasterxml.jackson.databind.ObjectMapper", True),
        ("maven", "org.jetbrains.kotlin:kotlin-gradle-plugin", "kotlin.collections.List", False),
        ("maven", "org.jetbrains.kotlin:kotlin-compiler-embeddable", "kotlin.reflect.KClass", False),
        ("maven", "org.jetbrains.kotlin:kotlin-test", "kotlin.test.assertEquals", True),
        ("maven", "a:b-bom", "a.b.C", False),
        ("nuget", "xunit", "Xunit", True),
        ("nuget", "CsvHelper", "CsvHelper.Configuration", True),
        ("nuget", "Csv", "CsvHelper", False),
        ("system", "ZLIB", "zlib.h", True),
        ("system", "OpenSSL", "openssl/ssl.h", True),
        ("system", "SSL", "openssl/ssl.h", False),
    ],
)
def test_an_import_is_of_a_dependency_by_the_rule_of_its_registry(
    ecosystem: Ecosystem, name: str, module: str, is_one: bool
) -> None:
    assert (fit(required(ecosystem, name), imported(module)) > 0) is is_one


@pytest.mark.parametrize(
    ("name", "module", "member", "is_one"),
    [
        ("google-cloud-storage", "google.cloud", "storage", True),
        ("google-cloud-storage", "google.cloud", "pubsub", False),
        ("protobuf", "google", "protobuf", True),
        ("requests", ".", "requests", False),
        ("rich", "tools", "rich", False),
        ("storage", "google.cloud", "storage", False),
        ("google", "google", "*", True),
    ],
)
def test_what_a_module_of_python_is_asked_for_may_be_a_module(
    name: str, module: str, member: str, is_one: bool
) -> None:
    assert (fit(required("pypi", name), imported(module, member)) > 0) is is_one


@pytest.mark.parametrize(
    ("ecosystem", "module", "closer", "other"),
    [
        ("go", "github.com/a/b/service/s3", "github.com/a/b/service/s3", "github.com/a/b"),
        ("rubygems", "rack/test", "rack-test", "rack"),
        ("pypi", "google.auth", "google-auth", "google"),
        ("maven", "org.junit.jupiter.params.A", "org.junit.jupiter:junit-jupiter-params", "junit:junit"),
        ("maven", "org.mockito.Mockito", "org.mockito:mockito-core", "org.mockito:mockito-junit-jupiter"),
        ("maven", "org.a.test.T", "org.a:a-test", "org.a:a-context"),
        ("nuget", "A.B.C", "A.B.C", "A.B"),
    ],
)
def test_the_closer_name_tells_more_of_an_import(ecosystem: Ecosystem, module: str, closer: str, other: str) -> None:
    row = imported(module)
    assert fit(required(ecosystem, closer), row) > fit(required(ecosystem, other), row) > 0


@pytest.mark.parametrize(("ecosystem", "name"), [("pypi", "click"), ("npm", "click"), ("crates", "click")])
def test_a_module_of_the_repository_is_no_import_of_a_dependency(ecosystem: Ecosystem, name: str) -> None:
    assert fit(required(ecosystem, name), imported(name))
    assert not fit(required(ecosystem, name), imported(name, target="src/click"))


def test_a_renamed_dependency_is_imported_by_its_alias_and_called_by_both_names() -> None:
    crate = required("crates", "bar", alias="foo-x")
    assert fit(crate, imported("foo_x::A"))
    assert not fit(crate, imported("bar::A"))
    assert module_names(crate) == ("foo_x",)
    assert {"bar", "foo-x"} <= short_names(crate)


@pytest.mark.parametrize(
    ("ecosystem", "name", "called"),
    [
        ("go", "github.com/cenkalti/backoff/v4", {"backoff", "cenkalti", "cenkalti/backoff"}),
        ("go", "gopkg.in/yaml.v3", {"yaml"}),
        ("npm", "@scope/pkg", {"pkg"}),
        ("maven", "io.kotest:kotest-assertions", {"kotest", "kotest-assertions"}),
    ],
)
def test_a_dependency_is_called_by_its_last_part_too(ecosystem: Ecosystem, name: str, called: set[str]) -> None:
    assert called <= short_names(required(ecosystem, name))


def test_the_host_of_a_go_module_is_no_name_of_it() -> None:
    assert short_names(required("go", "golang.org/yaml")).isdisjoint({"golang", "golang-org"})
    assert "github-com" not in short_names(required("go", "github.com/cenkalti/backoff/v4"))


@pytest.mark.parametrize(
    ("row", "names"),
    [
        (imported("requests"), {"requests"}),
        (imported("pygments.lexers"), {"pygments"}),
        (imported("pygments.lexers", alias="lexers"), {"lexers"}),
        (imported("rich.console", "Console"), {"Console"}),
        (imported("rich.console", "Console", "C"), {"C"}),
        (imported("tkinter", "*"), set()),
    ],
)
def test_python_binds_what_the_index_tells(row: ImportRecord, names: set[str]) -> None:
    assert bound_names("pypi", row, []) == names


@pytest.mark.parametrize(
    ("ecosystem", "module", "lines", "names"),
    [
        ("go", "a.org/spf13/pflag", '\t"a.org/spf13/pflag"', {"pflag"}),
        ("go", "a.org/backoff/v4", '\t"a.org/backoff/v4"', {"backoff"}),
        ("go", "a.org/nats.go", 'import "a.org/nats.go"', {"nats"}),
        ("go", "a.org/go-sqlite3", '\t_ "a.org/go-sqlite3"', set()),
        ("go", "a.org/is", 'import . "a.org/is"', set()),
        ("go", "a.org/is", 'import (i "a.org/is")', {"i"}),
        ("crates", "log", "extern crate log;", {"log"}),
        ("crates", "serde_jsonasjson", "use serde_json as json;", {"json"}),
        ("crates", "a::{b}", "pub use a::{b, c as d, e::{self, F}, g::*, self}; // use x::y;", {"b", "d", "e", "F"}),
        ("crates", "a::{b}", "use a::{\n    b, // c,\n    d,\n};\nlet e = 1;", {"b", "d"}),
        ("crates", "a", "use a as _;", set()),
        ("maven", "org.junit.Test", "import org.junit.Test;", {"Test"}),
        ("maven", "org.junit", "import static org.junit.*;", set()),
        ("maven", "kotlin.test.Test", "import kotlin.test.Test as T", {"T"}),
        ("composer", r"Psr\Log\L", r"use Psr\Log\L;", {"L"}),
        ("composer", r"Psr\Log\L", r"use Psr\Log\L as Logs;", {"Logs"}),
        ("composer", "Psr", r"use Psr\{Log\A, B as C};", {"A", "C"}),
        ("composer", "", "use A;", {""}),
        ("maven", "", "import a;", {""}),
        ("rubygems", "rack", "require 'rack'", set()),
        ("nuget", "Xunit", "using Xunit;", set()),
        ("system", "zlib.h", "#include <zlib.h>", set()),
    ],
)
def test_a_statement_tells_what_it_binds(ecosystem: Ecosystem, module: str, lines: str, names: set[str]) -> None:
    assert bound_names(ecosystem, imported(module), lines.split("\n")) == names


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        ("import m from 'm'", {"m"}),
        ('import d, { a as b, c } from "m";', {"d", "b", "c"}),
        ("import * as ns from 'm'", {"ns"}),
        ("import type { A, type B as C } from 'm'", {"A", "C"}),
        ("import type from 'm'", {"type"}),
        ("import 'm'", set()),
        ("export { m } from 'm'", set()),
        ("import a from 'a'; import b from 'm'; import c from 'c'", {"b"}),
        ("import {\n  k,\n  l as ll, // x\n} from 'm'", {"k", "ll"}),
        ("const m = require('m')", {"m"}),
        ("const { a: b, c, d = 1 } = require('m')", {"b", "c", "d"}),
        ("var fs = require('fs'), m = require('m')", {"m"}),
        ("const x = require('m').y", {"x"}),
        ("const x = await import(`m`)", {"x"}),
        ("const {\n  a,\n  b\n} = require('m')", {"a", "b"}),
        ("import X = require('m')", {"X"}),
        ("require('m')", set()),
        ("f(require('m'))", set()),
    ],
)
def test_javascript_binds_what_stands_ahead_of_the_module(lines: str, names: set[str]) -> None:
    written = lines.split("\n")
    assert bound_names("npm", imported("m", line=len(written)), written) == names


@pytest.mark.parametrize(("more", "names"), [(-1, {"a"}), (0, {"a"}), (1, set())])
def test_a_statement_is_read_for_so_many_lines(more: int, names: set[str]) -> None:
    filled = [""] * (MAX_LINES - 1 + more)
    assert bound_names("npm", imported("m", line=MAX_LINES + 1 + more), ["import { a", *filled, "} from 'm'"]) == names
    in_rust = bound_names("crates", imported("m"), ["use m::{", *filled[1:], "a};"])
    assert in_rust == names


@given(st.sampled_from(ECOSYSTEMS), st.text(max_size=40), st.text(max_size=80), st.integers(-2, 5))
def test_any_name_and_any_line_are_compared_without_an_error(
    ecosystem: Ecosystem, name: str, line: str, number: int
) -> None:
    row = imported(name, line=number)
    assert fit(required(ecosystem, name or "x"), imported(line)) >= 0
    assert all(bound_names(ecosystem, row, [line, name])) or ecosystem in {"pypi", "go", "maven", "composer"}


@pytest.mark.parametrize(
    "text", ["import ", "import{", "a as ", "a::", "a::{self ", "a:", "{", "=", " ", "a", "const x ="]
)
def test_the_names_of_a_long_line_are_read_soon(text: str) -> None:
    line = text * (MAX_CHARS * 50 // len(text)) + "'m'"
    started_s = time.process_time()
    for ecosystem in ECOSYSTEMS:
        bound_names(ecosystem, imported("m"), [line])
        bound_names(ecosystem, imported("m"), [line[-MAX_CHARS:]])
    assert time.process_time() - started_s < 1
