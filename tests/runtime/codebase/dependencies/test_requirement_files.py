"""What metadata files declare: names, lines and what each is needed for; of hostile files, nothing, and soon."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.dependencies.requirement import group_of, is_lock_file, plain
from runtime.codebase.dependencies.requirement_files import (
    MAX_CHARS,
    MAX_LINE_CHARS,
    MAX_NAME_CHARS,
    MAX_REQUIREMENTS,
    is_requirement_file,
    read_requirements,
)
from runtime.codebase.dependencies.requirement_tables import MAX_DOTS_OF_LINE
from runtime.codebase.dependencies.setup_script import MAX_LISTED_LINES

Told = list[tuple[int, str, str]]


def told(path: str, text: str) -> Told:
    """Line, group and name of each requirement, with what the code calls it where that is another name."""
    made = read_requirements(path, text.split("\n"))
    return [(each.line, each.group, f"{each.name} as {each.alias}" if each.alias else each.name) for each in made]


PYPROJECT = '''[project]
name = "click"
description = """
[project]
dependencies = ["no"]
"""
keywords = ["rich"]
dependencies = [
  # "nope",
  "click>=1", 'tqdm ; python_version<"3"', "foo @ git+https://x",
  "rich[all] (>=2)",
]
[project.optional-dependencies]
redis = [
  "redis>3",
]
docs = ["sphinx"]
[build-system]
requires = ["hatchling"]
[dependency-groups]
dev = ["pytest", {include-group = "docs"}]
[tool.matrix]
of = [
  ["project"],
]
[tool.poetry.dependencies]
python = "^3"
multi = [{version = "1", python = "2"}, {version = "2"}]
"quoted.name" = "1"
[tool.poetry.group.latest.dependencies]
black = "*"
[tool.hatch.envs.default]
dependencies = ["coverage"]
[tool.uv]
dev-dependencies = ["ruff"]
'''
CARGO = """[dependencies]
foo = { package = "bar", version = "1" }
own = { path = "../own" }
serde.workspace = true
log = "1" # "no"
zip = { version = "1", optional = true }
[dependencies.tokio]
version = "1"
[target.'cfg(any(unix, target_os = "linux"))'.dependencies]
nix = "1"
[target."cfg(windows)".dev-dependencies]
winapi = "1"
[dev-dependencies]
log = "1"
[build-dependencies]
cc = "1"
[workspace]
dependencies = { url = "1", b-c = { version = "1" } }
"""
PACKAGE = """{"name": "x", "pnpm": {"dependencies": {"no": "1"}}, "dependencies": {"a": "1", "@s/b": "2",
  "old": "npm:real@1", "older": "npm:@s/real@1"},
"devDependencies":
{
  "mocha": "1", "own": "workspace:*", "own2": "file:../own"
}, "peerDependencies": {"a": "*"}, "optionalDependencies": {"fsevents": "2"}, "scripts": {"x": "}{"} }"""
GO = """module x.org/y
require github.com/a/b v1.0.0 // indirect
require (
\tc.org/d/v2 v2.0.0 // indirect
\te.org/f v0.0.0-2020 // why
\t// g.org/no v1.0.0
)
exclude (
\tg.org/h v1.0.0
)
replace g.org/i => j.org/k v1.0.0
replace (
\tg.org/l v1.0.0 => j.org/m v1.0.0
)
tool g.org/t
require(
\tz.org/z v1.0.0
)
"""
PIP = """-r base.txt
-e git+https://g.org/foo.git@main#egg=foo
git+https://g.org/foo2.git#egg=foo2&subdirectory=x
bar==1 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
baz ; python_version < "3"
qux @ https://x.org/qux.whl
extra[one,two]>=1
This is a sentence
# git+https://g.org/no.git#egg=no
./local
https://x.org/y.whl
tail # why
hashed --hash=sha256:aa
"""
SETUP_CFG = """[metadata]
name = rich
keywords = click
[options]
install_requires =
    rich>=1
    # no
    click; python_version>"3"
python_requires = >=3
setup_requires = wheel
[options.extras_require]
redis =
    redis>=3
test = pytest
:python_version == "2.7" =
    futures
[flake8]
foo = bar
"""
SETUP_PY = """setup(
  name="requests",
  install_requires=["a>=1", 'b',  # "no"
     "c[x]>=1"],
  extras_require={"redis": ["redis>=3"], 'x': ["y"]},
  tests_require = ["t"],
  python_requires=">=3",
)
"""
GEMFILE = """source "x"
gem "a", require: "y"
gem("b")
gem 'c', group: :test
gem 'd', :groups => [:development, :test]
group :test do
  platforms :ruby do
    gem "e"
  end
  gem "f"
end
if x
  group :development do
    gem "g"
  end
  gem "h"
end
# gem "no"
gemspec
gemstone "no"
"""
GEMSPEC = """Gem::Specification.new do |s|
  s.add_dependency "a", "1"
  s.add_development_dependency(%q<b>.freeze)
  s.add_runtime_dependency 'c'
  %w(d e).each { |x| s.add_dependency x }
  #s.add_dependency "no"
end"""
POM = """<project><properties><org>org.spring</org></properties>
<dependency><groupId>${org}</groupId><artifactId>core</artifactId></dependency>
<!-- <dependency><groupId>no</groupId><artifactId>no</artifactId></dependency>
<dependency>
  <groupId>no2</groupId><artifactId>no2</artifactId>
</dependency>
-->
<dependency>
  <exclusions><exclusion><groupId>e</groupId><artifactId>e</artifactId></exclusion></exclusions>
  <groupId>junit</groupId>
  <artifactId>junit</artifactId>
  <scope>test</scope>
</dependency>
<dependency><groupId>${project.groupId}</groupId><artifactId>own</artifactId></dependency>
<dependency><groupId>o</groupId><artifactId>o</artifactId><optional>true</optional></dependency>
<plugin><dependencies><dependency><groupId>p</groupId><artifactId>q</artifactId></dependency></dependencies></plugin>
"""
GRADLE = """
implementation("a.b:c:1")
implementation(platform("a.b:bom:1"))
testImplementation group: 'j', name: 'k', version: '1'
api 'l:m'
// implementation("no:no:1")
/* implementation("no:no2:1")
 implementation("no:no3:1") */
exclude("**/*.kt")
classpath "x:y:1"
implementation(libs.foo)
debugImplementation("d:e:$v")
"""
CATALOGUE = """[versions]
a = "1"
[libraries]
kotest = "io.kotest:core:1"
okio = { module = "com.squareup.okio:okio", version.ref = "a" }
junit = { group = "org.junit", name = "junit" }
latest = { version = "1" }
"""
MSBUILD = """<PackageReference Include="A.B" Version="1" /><PackageReference Include='C' />
<!-- <PackageReference Include="No" />
<PackageReference Include="No2" /> -->
<packageversion Include="D" />
"""
COMPOSER = '{"require": {"php": ">=8", "ext-json": "*", "a/b": "1"},\n"require-dev": {"c/d": "1"}}'
FORMATS: dict[tuple[str, str], Told] = {
    ("pyproject.toml", PYPROJECT): [
        (10, "runtime", "click"),
        (10, "runtime", "tqdm"),
        (10, "runtime", "foo"),
        (11, "runtime", "rich"),
        (15, "optional", "redis"),
        (17, "development", "sphinx"),
        (19, "build", "hatchling"),
        (21, "development", "pytest"),
        (28, "runtime", "multi"),
        (29, "runtime", "quoted.name"),
        (31, "development", "black"),
        (33, "development", "coverage"),
        (35, "development", "ruff"),
    ],
    ("crates/x/Cargo.toml", CARGO): [
        (2, "runtime", "bar as foo"),
        (4, "runtime", "serde"),
        (5, "runtime", "log"),
        (6, "optional", "zip"),
        (7, "runtime", "tokio"),
        (10, "runtime", "nix"),
        (12, "development", "winapi"),
        (14, "development", "log"),
        (16, "build", "cc"),
        (18, "runtime", "url"),
        (18, "runtime", "b-c"),
    ],
    ("package.json", PACKAGE): [
        (1, "runtime", "a"),
        (1, "runtime", "@s/b"),
        (2, "runtime", "real as old"),
        (2, "runtime", "@s/real as older"),
        (5, "development", "mocha"),
        (6, "optional", "fsevents"),
    ],
    ("go.mod", GO): [
        (2, "indirect", "github.com/a/b"),
        (4, "indirect", "c.org/d/v2"),
        (5, "runtime", "e.org/f"),
        (17, "runtime", "z.org/z"),
    ],
    ("requirements-dev.txt", PIP): [
        *((line, "development", name) for line, name in ((2, "foo"), (3, "foo2"), (4, "bar"), (7, "baz"), (8, "qux"))),
        *((line, "development", name) for line, name in ((9, "extra"), (14, "tail"), (15, "hashed"))),
    ],
    ("setup.cfg", SETUP_CFG): [
        (6, "runtime", "rich"),
        (8, "runtime", "click"),
        (10, "build", "wheel"),
        (13, "optional", "redis"),
        (14, "development", "pytest"),
    ],
    ("setup.py", SETUP_PY): [
        (3, "runtime", "a"),
        (3, "runtime", "b"),
        (4, "runtime", "c"),
        (5, "optional", "redis"),
        (5, "optional", "y"),
        (6, "development", "t"),
    ],
    ("Pipfile", '[packages]\na = "*"\n[dev-packages]\nb = {version = "*"}'): [
        (2, "runtime", "a"),
        (4, "development", "b"),
    ],
    ("Gemfile", GEMFILE): [
        (2, "runtime", "a"),
        (3, "runtime", "b"),
        *((line, "development", name) for line, name in ((4, "c"), (5, "d"), (8, "e"), (10, "f"), (14, "g"))),
        (16, "runtime", "h"),
    ],
    ("x.gemspec", GEMSPEC): [(2, "runtime", "a"), (3, "development", "b"), (4, "runtime", "c")],
    ("pom.xml", POM): [
        (2, "runtime", "org.spring:core"),
        (11, "development", "junit:junit"),
        (15, "optional", "o:o"),
        (16, "build", "p:q"),
    ],
    ("app/build.gradle.kts", GRADLE): [
        (2, "runtime", "a.b:c"),
        (3, "runtime", "a.b:bom"),
        (4, "development", "j:k"),
        (5, "runtime", "l:m"),
        (10, "build", "x:y"),
        (12, "runtime", "d:e"),
    ],
    ("gradle/libs.versions.toml", CATALOGUE): [
        (4, "development", "io.kotest:core"),
        (5, "runtime", "com.squareup.okio:okio"),
        (6, "runtime", "org.junit:junit"),
    ],
    ("src/X/X.csproj", MSBUILD): [(1, "runtime", "A.B"), (1, "runtime", "C"), (4, "runtime", "D")],
    ("test/X.Tests/X.csproj", MSBUILD): [(1, "development", "A.B"), (1, "development", "C"), (4, "development", "D")],
    ("CMakeLists.txt", "find_package(Boost 1.3 REQUIRED)\n#find_package(No)\nFIND_PACKAGE( ZLIB)"): [
        (1, "runtime", "Boost"),
        (3, "runtime", "ZLIB"),
    ],
    ("composer.json", COMPOSER): [(1, "runtime", "a/b"), (2, "development", "c/d")],
}


@pytest.mark.parametrize(("path", "text"), FORMATS, ids=[path for path, _ in FORMATS])
def test_each_format_is_read_by_its_own_rules(path: str, text: str) -> None:
    assert told(path, text) == FORMATS[path, text]


def test_a_requirement_of_several_lines_is_told_by_the_one_with_its_name() -> None:
    several = '"""\n    uvloop >= 1; platform_system != "x" \\\n    and a == "rich"\n  """'
    text = f'[dependency-groups]\ntest = [\n  "rich",\n  {several},\n]'
    assert told("pyproject.toml", text) == [(3, "development", "rich"), (5, "development", "uvloop")]


@pytest.mark.parametrize(("path", "text"), FORMATS, ids=[path for path, _ in FORMATS])
def test_the_ends_of_lines_do_not_matter(path: str, text: str) -> None:
    made = read_requirements(path, text.replace("\n", "\r\n").split("\n"))
    assert [each.name for each in made] == [each.name for each in read_requirements(path, text.split("\n"))]


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("requirements.txt", True),
        ("requirements/ci.txt", True),
        ("requirements/README.md", False),
        ("dev-requirements.in", True),
        ("pyproject.toml", True),
        ("pyproject.toml.orig", False),
        ("poetry.lock", False),
        ("package-lock.json", False),
        ("node/package.json", True),
        ("src/package.py", False),
        ("Directory.Packages.props", True),
    ],
)
def test_a_metadata_file_is_known_by_its_name(path: str, is_one: bool) -> None:
    assert is_requirement_file(path) is is_one


@pytest.mark.parametrize("path", ["Cargo.lock", "a/package-lock.json", "go.sum", "gradle.lockfile", "bun.lockb"])
def test_a_lock_file_declares_nothing(path: str) -> None:
    assert is_lock_file(path)
    assert not is_requirement_file(path)


@pytest.mark.parametrize(
    ("said", "group"),
    [
        *(("dev", "development"), ("dev-requirements", "development"), ("testImplementation", "development")),
        *(("androidTestImplementation", "development"), (":development", "development"), ("docs", "development")),
        *(("src/X.Tests", "development"), ("linting", "development"), ("requirements/pytest.txt", "development")),
        *(("latest", "runtime"), ("docker", "runtime"), ("device", "runtime"), ("checkout", "runtime")),
        *(("attestation", "runtime"), ("circle", "runtime"), ("redis", "runtime")),
    ],
)
def test_a_whole_word_tells_that_something_is_for_development(said: str, group: str) -> None:
    assert group_of(said) == group


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("pyproject.toml", '[project]\ndependencies = ["a"]\n[project]\n'),
        ("pyproject.toml", '[project]\ndependencies = ["a"'),
        ("pyproject.toml", 'project = "x"\n[[dependency-groups]]\ndev = ["a"]'),
        ("pyproject.toml", "[project]\ndependencies = 3\noptional-dependencies = []"),
        ("pyproject.toml", f"a = {'[' * 50_000}"),
        ("Cargo.toml", "[target]\nx = 1\n[workspace]\ndependencies = [1]\n"),
        ("Cargo.toml", '[dependencies]\na = "\0"'),
        ("libs.versions.toml", "[libraries]\na = 1\nb = {version = 1}\n"),
        ("package.json", "["),
        ("package.json", '["dependencies"]'),
        ("package.json", '{"dependencies": ["a"], "devDependencies": "b"}'),
        ("package.json", "[" * 100_000),
        ("package.json", '{"dependencies": {"a": ' + "9" * 5_000 + "}}"),
        ("composer.json", '\ufeff{"require": {"a/b": "1"}}'),
        ("composer.json", "null"),
        ("pom.xml", "<dependency><artifactId>a</artifactId></dependency><dependency>"),
        ("setup.cfg", "install_requires = a\n[options\n[]\n = x\n"),
        ("setup.py", "install_requires = ["),
        ("go.mod", "require (\n)\nrequire\n(\n)\n"),
        ("requirements.txt", "\0\n-\n--\n[a]\n==1\n"),
    ],
)
def test_a_malformed_file_declares_nothing(path: str, text: str) -> None:
    assert told(path, text) == []


def test_of_several_lines_for_one_purpose_the_first_is_told() -> None:
    assert told("requirements.txt", 'a==1; x<"3"\nb\na==2; x>"3"') == [(1, "runtime", "a"), (2, "runtime", "b")]


def test_a_key_of_json_that_stands_twice_is_told_by_a_line_that_has_it() -> None:
    text = '{"dependencies": {"a": "1"},\n"dependencies": {\n"b": "1"}}'
    assert told("package.json", text) == [(3, "runtime", "b")]


@pytest.mark.parametrize(("more", "count"), [(-1, MAX_REQUIREMENTS - 1), (0, MAX_REQUIREMENTS), (1, MAX_REQUIREMENTS)])
def test_so_many_requirements_of_a_file_are_read(more: int, count: int) -> None:
    text = "\n".join(f"name{number}" for number in range(MAX_REQUIREMENTS + more))
    assert len(told("requirements.txt", text)) == count


@pytest.mark.parametrize(("more", "count"), [(-1, 1), (0, 1), (1, 0)])
def test_a_file_is_read_up_to_so_many_characters(more: int, count: int) -> None:
    lines = ["name", *["#" * 99] * ((MAX_CHARS - 4) // 99)]
    lines.append("#" * (MAX_CHARS + more - sum(map(len, lines))))
    assert len(read_requirements("requirements.txt", lines)) == count


@pytest.mark.parametrize(("more", "count"), [(-1, 1), (0, 1), (1, 0)])
def test_a_name_has_at_most_so_many_characters(more: int, count: int) -> None:
    name = "a" * (MAX_NAME_CHARS + more)
    assert len(told("requirements.txt", name)) == len(told("package.json", f'{{"dependencies": {{"{name}": ""}}}}'))
    assert len(told("requirements.txt", name)) == count


@pytest.mark.parametrize(("more", "count"), [(-1, 1), (0, 1), (1, 0)])
def test_a_line_of_other_formats_than_toml_and_json_is_read_so_far(more: int, count: int) -> None:
    gem = 's.add_dependency "a'
    assert len(told("x.gemspec", " " * (MAX_LINE_CHARS - len(gem) + more) + gem)) == count
    assert told("package.json", '{"x": "' + "y" * MAX_LINE_CHARS + '", "dependencies": {"a": ""}}')


@pytest.mark.parametrize(("more", "count"), [(-1, 1), (0, 1), (1, 0)])
def test_a_line_of_toml_has_at_most_so_many_full_stops(more: int, count: int) -> None:
    stops = "." * (MAX_DOTS_OF_LINE + more)
    assert len(told("pyproject.toml", f'[project]\ndescription = "{stops}"\ndependencies = ["a"]')) == count


@pytest.mark.parametrize(("more", "count"), [(-1, 1), (0, 1), (1, 0)])
def test_a_list_in_a_script_is_read_for_so_many_lines(more: int, count: int) -> None:
    lines = ["requires = [", *["#"] * (MAX_LISTED_LINES - 2 + more), '"a"]']
    assert len(read_requirements("setup.py", lines)) == count


NAMES = (
    *("pyproject.toml", "Pipfile", "requirements.txt", "setup.cfg", "setup.py", "Cargo.toml", "go.mod", "package.json"),
    *("composer.json", "Gemfile", "x.gemspec", "pom.xml", "build.gradle", "libs.versions.toml", "x.csproj"),
    "CMakeLists.txt",
)
PIECES = tuple(
    {piece for _, text in FORMATS for piece in re.split(r"(\W)", text)}
    | {'"', "'", '"""', "'''", "\\", "[", "]", "{", "}", "#", "\n", "\0", "\ufeff", "ſ", "İ", "é"}
)


@given(st.sampled_from(NAMES), st.lists(st.sampled_from(PIECES), max_size=60).map("".join) | st.text(max_size=200))
def test_of_any_text_each_line_has_the_name_or_what_the_code_calls_it(path: str, text: str) -> None:
    lines = text.split("\n")
    for each in read_requirements(path, lines):
        line = plain(lines[each.line - 1])
        assert plain(each.alias or re.split(":", each.name)[-1]) in line or path == "libs.versions.toml"


@given(st.sampled_from(tuple(FORMATS)), st.data())
def test_a_file_that_is_cut_or_altered_anywhere_is_read_without_an_error(
    known: tuple[str, str], data: st.DataObject
) -> None:
    path, text = known
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 20)))
    altered = text[:start] + data.draw(st.sampled_from(PIECES)) + text[end:]
    assert all(0 < each.line <= altered.count("\n") + 1 for each in read_requirements(path, altered.split("\n")))


def _lines(line: str, first: str = "") -> Callable[[int], list[str]]:
    """Return a maker of files of about so many characters, of one line again and again."""
    return lambda size: [*([first] if first else []), *[line] * (size // (len(line) + 1))]


def _many(text: str, size: int) -> str:
    return "".join(text.format(number) for number in range(size // (len(text) + 4)))


HOSTILE: list[tuple[str, Callable[[int], list[str]]]] = [
    ("Gemfile", _lines("group" + " " * 990 + "x")),
    ("Gemfile", _lines("gem" + " " * 990 + "x")),
    ("Gemfile", _lines('gem "x", ' + "group:" * 160)),
    ("x.gemspec", _lines(".add_dependency" + " " * 980)),
    ("go.mod", _lines("\t" + "a." * 490)),
    ("setup.cfg", _lines("a" + " " * 990 + "b", "[options]")),
    ("setup.py", _lines("requires = [")),
    ("setup.py", _lines('requires = ["' + "a" * 980)),
    ("setup.py", _lines("requires" * 120)),
    ("requirements.txt", _lines("a[" * 490)),
    ("requirements.txt", _lines("git+https://" + "#egg=-" * 160)),
    ("pom.xml", _lines("<dependency>" * 80)),
    ("pom.xml", _lines("<!--" * 200)),
    ("pom.xml", _lines("<a>" + " " * 900 + "b")),
    ("build.gradle", _lines("implementation" * 70)),
    ("build.gradle", _lines("api(" + " " * 980)),
    ("x.csproj", _lines("<PackageReference " + "Include " * 120)),
    ("x.csproj", _lines("<PackageReference Include" + " " * 970)),
    ("CMakeLists.txt", _lines("find_package" + " " * 980)),
    ("pyproject.toml", lambda size: ['a = """', *["[" + " " * 900 + "x"] * (size // 902), '"""']),
    ("pyproject.toml", lambda size: ["a = '''", *['"""' * 300] * (size // 902), "'''"]),
    ("pyproject.toml", lambda size: [".".join(["a"] * (size // 2)) + " = 1"]),
    ("pyproject.toml", lambda size: [".".join(["a"] * 200) + f".b{n} = 1" for n in range(size // 408)]),
    ("pyproject.toml", lambda size: ["[[a]]", "[a.b]"] * (size // 12)),
    ("pyproject.toml", lambda size: ["[project]", "dependencies = [", *[f'"a{n}",' for n in range(size // 10)], "]"]),
    ("pyproject.toml", lambda size: ["[project]", "dependencies = [" + _many('"a{}",', size) + "]"]),
    ("Cargo.toml", lambda size: ["dependencies = {" + _many("a{} = '',", size).rstrip(",") + "}"]),
    ("Cargo.toml", lambda size: _many("[target.a{}.dependencies]\nb = ''\n", size).split("\n")),
    ("package.json", lambda size: ['{"dependencies": {' + _many('"a{}":"",', size).rstrip(",") + "}}"]),
    ("package.json", lambda size: ['{"dependencies":{', *[f'"a{n}":"",' for n in range(size // 12)], '"z":""}}']),
    ("package.json", lambda size: ['{"a":"' + '\\"' * (size // 2) + '"}']),
]


@pytest.mark.parametrize(
    ("path", "make"), HOSTILE, ids=[f"{number}-{path}" for number, (path, _) in enumerate(HOSTILE)]
)
def test_a_hostile_file_of_the_greatest_length_is_read_soon(path: str, make: Callable[[int], list[str]]) -> None:
    lines = make(MAX_CHARS - 1_000)
    started_s = time.process_time()
    read_requirements(path, lines)
    assert time.process_time() - started_s < 3
