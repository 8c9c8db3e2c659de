"""Reads the dependencies that metadata files declare, each with its line and what it is needed for.

`read_requirements(path, lines)` knows pyproject.toml, requirements*.txt, setup.cfg, setup.py, Pipfile, go.mod,
Cargo.toml, package.json, composer.json, Gemfile, *.gemspec, pom.xml, Gradle files with their version catalogues,
*.csproj, Directory.Packages.props and CMakeLists.txt. A file that cannot be parsed declares nothing, and a dependency
whose line is not found is left out. Nothing is executed, and lock files are not read: what they list nobody declared.
"""

from __future__ import annotations

import configparser
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from runtime.codebase.dependencies import lines_of_names, requirement_tables
from runtime.codebase.dependencies.requirement import Ecosystem, Group, Requirement

MAX_CHARS = 400_000
MAX_REQUIREMENTS = 400
MAX_LINE_CHARS = 1_000

_Lines = Sequence[str]
# The name, the line that declares it, what it is needed for.
_Found = Iterable[tuple[str, int, Group]]

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*+)\s*(?:\[[^\]]{0,200}\])?\s*(?:$|[=<>!~;@,#(\s])")
_FOR_TESTS = re.compile(r"dev|test|lint|doc|ci\b|typing|check|bench|example", re.IGNORECASE)


def is_requirement_file(path: str) -> bool:
    """Return whether a file's name is that of one which declares dependencies."""
    return _reader_of(path) is not None


def read_requirements(path: str, lines: _Lines) -> list[Requirement]:
    """Return what a metadata file declares, by line; nothing for one that is malformed, too long or of another kind."""
    found = _reader_of(path)
    if found is None or sum(map(len, lines)) > MAX_CHARS:
        return []
    ecosystem, read = found
    shown = [line[:MAX_LINE_CHARS] for line in lines]
    try:
        rows = list(read(path, shown))
    except (ValueError, RecursionError, configparser.Error, TypeError, AttributeError):
        # Malformed, or nested as no metadata is: whatever it holds is not a declaration.
        return []
    made = (Requirement(name, path, line, group, ecosystem) for name, line, group in rows if name)
    kept = {(each.name, each.group): each for each in made}
    return sorted(kept.values(), key=lambda each: each.line)[:MAX_REQUIREMENTS]


def _reader_of(path: str) -> tuple[Ecosystem, Callable[[str, _Lines], _Found]] | None:
    name = posixpath.basename(path).lower()
    found = next(((kind, read) for pattern, kind, read in _READERS if pattern.fullmatch(name)), None)
    if found is None and posixpath.basename(posixpath.dirname(path)).lower() == "requirements":
        return ("pypi", _requirements_txt) if name.endswith((".txt", ".in")) else None
    return found


def _group_of(said: str) -> Group:
    return "development" if _FOR_TESTS.search(said) else "runtime"


def _requirements_txt(path: str, lines: _Lines) -> Iterator[tuple[str, int, Group]]:
    group = _group_of(path)
    for number, line in enumerate(lines, 1):
        found = _REQUIREMENT.match(line) if not line.lstrip().startswith(("#", "-")) else None
        if found is not None:
            yield found.group(1), number, group


def _setup_cfg(path: str, lines: _Lines) -> Iterator[tuple[str, int, Group]]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read_string("\n".join(lines))
    wanted: list[tuple[str, Group]] = []
    for key, group in (("install_requires", "runtime"), ("tests_require", "development"), ("setup_requires", "build")):
        for text in parser.get("options", key, fallback="").split("\n"):
            wanted += _named(text, group)  # type: ignore[arg-type]
    if parser.has_section("options.extras_require"):
        for extra, texts in parser.items("options.extras_require"):
            for text in texts.split("\n"):
                wanted += _named(text, "development" if _FOR_TESTS.search(extra) else "optional")
    return lines_of_names.beginning(lines, wanted)


def _named(text: str, group: Group) -> list[tuple[str, Group]]:
    found = _REQUIREMENT.match(text)
    return [] if found is None else [(found.group(1), group)]


_LISTED = re.compile(
    r"\b(?P<key>\w*(?:requires?|requirements|dependencies|deps))\b[\"']?\s*[=:]\s*(?:\w+\s*\(\s*)?[\[({]"
)
_STRING = re.compile(r"([\"'])([^\"'\n]{1,300})\1(?!\s*:)")
_OPENING, _CLOSING = frozenset("[({"), frozenset("])}")
MAX_LISTED_LINES = 200


def _setup_py(path: str, lines: _Lines) -> Iterator[tuple[str, int, Group]]:
    """Yield the strings of lists that are called so, which are read and never run."""
    for start, line in enumerate(lines):
        listed = _LISTED.search(line)
        if listed is None or line.lstrip().startswith("#"):
            continue
        key = listed["key"]
        group: Group = "build" if "setup" in key else _group_of(key)
        depth, at = 0, listed.end() - 1
        for number in range(start, min(len(lines), start + MAX_LISTED_LINES)):
            text, end = _until_closed(lines[number][at:], depth)
            for found in _STRING.finditer(text):
                for name, of in _named(found.group(2), "optional" if "extra" in key else group):
                    yield name, number + 1, of
            depth, at = end, 0
            if depth <= 0:
                break


def _until_closed(text: str, depth: int) -> tuple[str, int]:
    """Return a line up to the bracket that closes the list, and how deep it ends; brackets in strings do not count."""
    quote = ""
    for place, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char == "#":
            return text[:place], depth
        elif char in _OPENING:
            depth += 1
        elif char in _CLOSING:
            depth -= 1
            if depth <= 0:
                return text[:place], 0
    return text, depth


def _go_mod(path: str, lines: _Lines) -> Iterator[tuple[str, int, Group]]:
    for number, line in enumerate(lines, 1):
        found = re.match(r"(?:require\s+|\s+)([\w.-]+\.[\w.-]+(?:/\S+)?)\s+v\d", line)
        if found is not None:
            yield found.group(1), number, "indirect" if "// indirect" in line else "runtime"


_GEM = re.compile(r"\s*gem[\s(]+[\"']([\w.-]+)[\"']")
_GEM_GROUP = re.compile(r"\s*group[\s(]+(.{1,200}?)\s+do\b")
_GEMSPEC = re.compile(r"\.add_(runtime_|development_)?dependency[\s(]*(?:%q?[<(\[{]|[\"'])([\w.-]+)")


def _gemfile(path: str, lines: _Lines) -> Iterator[tuple[str, int, Group]]:
    group: Group = "runtime"
    for number, line in enumerate(lines, 1):
        if (block := _GEM_GROUP.match(line)) is not None:
            group = _group_of(block.group(1))
        elif re.match(r"end\b", line):
            group = "runtime"
        elif (gem := _GEM.match(line)) is not None:
            yield gem.group(1), number, group


def _gemspec(path: str, lines: _Lines) -> Iterator[tuple[str, int, Group]]:
    for number, line in enumerate(lines, 1):
        found = _GEMSPEC.search(line)
        if found is not None and not line.lstrip().startswith("#"):
            yield found.group(2), number, "development" if found.group(1) == "development_" else "runtime"


_POM_TAG = re.compile(r"<(/?dependency|groupId|artifactId|scope)>\s*([^<\s]*)")


def _pom(path: str, lines: _Lines) -> Iterator[tuple[str, int, Group]]:
    told: dict[str, tuple[str, int]] | None = None
    for number, line in enumerate(lines, 1):
        for tag, text in _POM_TAG.findall(line):
            if tag == "dependency":
                told = {}
            elif tag == "/dependency" and told is not None:
                if "artifactId" in told:
                    artifact, at = told["artifactId"]
                    group: Group = "development" if told.get("scope", ("", 0))[0] == "test" else "runtime"
                    yield f"{told.get('groupId', ('', 0))[0]}:{artifact}", at, group
                told = None
            elif told is not None:
                told.setdefault(tag, (text, number))


_GRADLE = re.compile(
    r"\b(?P<how>(?:[a-z]\w*)?(?:implementation|api|compileOnly|runtimeOnly|compile|kapt|ksp|annotationProcessor|classpath)"
    r"|[a-z]\w*(?:Implementation|Api|CompileOnly|RuntimeOnly))\s*\(?\s*[\"'](?P<name>[\w.-]+:[\w.-]+)",
)


def _gradle(path: str, lines: _Lines) -> Iterator[tuple[str, int, Group]]:
    for number, line in enumerate(lines, 1):
        found = _GRADLE.search(line)
        if found is not None and not line.lstrip().startswith("//"):
            yield found["name"], number, _group_of(found["how"])


_PACKAGE = re.compile(r"<Package(?:Reference|Version)\s[^>]{0,300}?\b(?:Include|Update)\s*=\s*\"([\w.-]+)\"")
_FIND_PACKAGE = re.compile(r"\s*(?i:find_package)\s*\(\s*([A-Za-z][\w.+-]*)")


def _each(pattern: re.Pattern[str]) -> Callable[[str, _Lines], _Found]:
    """Return a reader of lines that a pattern finds a name in; those of folders of tests are for development."""

    def read(path: str, lines: _Lines) -> Iterator[tuple[str, int, Group]]:
        group = _group_of(posixpath.dirname(path))
        for number, line in enumerate(lines, 1):
            if (found := pattern.search(line)) is not None and not line.lstrip().startswith(("#", "<!--")):
                yield found.group(1), number, group

    return read


_READERS: tuple[tuple[re.Pattern[str], Ecosystem, Callable[[str, _Lines], _Found]], ...] = (
    (re.compile(r"pyproject\.toml"), "pypi", requirement_tables.pyproject),
    (re.compile(r"pipfile"), "pypi", requirement_tables.pipfile),
    (re.compile(r"(?:.*[-_.])?requirements(?:[-_.].*)?\.(?:txt|in)"), "pypi", _requirements_txt),
    (re.compile(r"setup\.cfg"), "pypi", _setup_cfg),
    (re.compile(r"setup\.py"), "pypi", _setup_py),
    (re.compile(r"cargo\.toml"), "crates", requirement_tables.cargo),
    (re.compile(r"go\.mod"), "go", _go_mod),
    (re.compile(r"package\.json"), "npm", requirement_tables.package_json),
    (re.compile(r"composer\.json"), "composer", requirement_tables.composer_json),
    (re.compile(r"gemfile"), "rubygems", _gemfile),
    (re.compile(r".+\.gemspec"), "rubygems", _gemspec),
    (re.compile(r"pom\.xml"), "maven", _pom),
    (re.compile(r".*\.gradle(?:\.kts)?"), "maven", _gradle),
    (re.compile(r".*\.versions\.toml"), "maven", requirement_tables.version_catalogue),
    (re.compile(r".+\.(?:csproj|fsproj)|directory\.(?:packages|build)\.(?:props|targets)"), "nuget", _each(_PACKAGE)),
    (re.compile(r"cmakelists\.txt"), "system", _each(_FIND_PACKAGE)),
)
