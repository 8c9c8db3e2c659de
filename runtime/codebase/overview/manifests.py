"""Reads what a package's metadata file declares: name, description, commands and dependencies.

`read_manifest(path, lines)` knows pyproject.toml, setup.cfg, setup.py, package.json, composer.json, Cargo.toml, go.mod,
*.gemspec, pom.xml, Gradle files, *.csproj and CMakeLists.txt. A file that cannot be parsed declares nothing. Each
declaration carries the lines that hold it; one whose lines are not found is left out. Nothing is executed.
"""

from __future__ import annotations

import configparser
import json
import posixpath
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from runtime.codebase.overview.document_purpose import Quoted

MAX_MANIFEST_CHARS = 400_000
MAX_DESCRIPTION_CHARS = 400
_WHOLE_SENTENCES = re.compile(r".*[.!?](?=\s|$)")
MAX_COMMANDS = 40
MAX_DEPENDENCIES = 60

_Lines = Sequence[str]
# What lies beside the description of the package itself; the last alternative is for a block that never ends.
_POM_BLOCKS = re.compile(
    r"<(parent|dependencies|dependencyManagement|build|modules|profiles|plugins)>(?:.*?</\1>|.*)", re.DOTALL
)
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*)")


@dataclass(frozen=True, slots=True)
class Declared:
    """Holds a command or dependency and the line that declares it; `target`: the function or file behind a command."""

    name: str
    line: int
    target: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """Holds what one metadata file declares; `main`: files that it names as the package's exported code."""

    path: str
    name: str = ""
    description: Quoted | None = None
    commands: tuple[Declared, ...] = ()
    main: tuple[Declared, ...] = ()
    dependencies: tuple[Declared, ...] = ()


def is_manifest(path: str) -> bool:
    """Return whether a file's name is that of a metadata file."""
    return _reader_of(path) is not None


def read_manifest(path: str, lines: _Lines) -> Manifest:
    """Return what a metadata file declares; nothing for one that is malformed, too long or of another kind."""
    reader = _reader_of(path)
    if reader is None or sum(map(len, lines)) > MAX_MANIFEST_CHARS:
        return Manifest(path)
    try:
        return reader(path, lines)
    except (ValueError, RecursionError, configparser.Error, TypeError, AttributeError):
        # Malformed, or nested as no metadata is: whatever it holds is not a declaration.
        return Manifest(path)


def _reader_of(path: str) -> Callable[[str, _Lines], Manifest] | None:
    name = posixpath.basename(path).lower()
    return next((reader for pattern, reader in _READERS if pattern.fullmatch(name)), None)


def _pyproject(path: str, lines: _Lines) -> Manifest:
    data = tomllib.loads("\n".join(lines))
    project = _table(data, "project")
    poetry = _table(data, "tool", "poetry")
    scripts = {**_table(project, "scripts"), **_table(project, "gui-scripts"), **_table(poetry, "scripts")}
    needed = [text for text in project.get("dependencies", []) if isinstance(text, str)]
    needed += [name for name in _table(poetry, "dependencies") if name != "python"]
    return Manifest(
        path,
        _text(project.get("name") or poetry.get("name")),
        _described(lines, project.get("description") or poetry.get("description"), r"description\s*="),
        _commands(lines, scripts),
        (),
        _dependencies(lines, needed),
    )


def _setup_cfg(path: str, lines: _Lines) -> Manifest:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read_string("\n".join(lines))
    scripts = parser.get("options.entry_points", "console_scripts", fallback="")
    scripts = scripts or parser.get("entry_points", "console_scripts", fallback="")
    needed = parser.get("options", "install_requires", fallback="").split("\n")
    described = parser.get("metadata", "description", fallback="")
    return Manifest(
        path,
        parser.get("metadata", "name", fallback=""),
        _described(lines, described, r"(?:description|summary)\s*[=:]"),
        _commands(lines, _pairs(scripts.split("\n"))),
        (),
        _dependencies(lines, needed),
    )


def _setup_py(path: str, lines: _Lines) -> Manifest:
    text = "\n".join(lines)
    name = re.search(r"^\s*name\s*=\s*[\"']([\w.-]+)[\"']", text, re.MULTILINE)
    said = re.search(r"^\s*description\s*=\s*\(?\s*([\"'])(?P<told>[^\n]{3,400}?)\1", text, re.MULTILINE)
    scripts = re.search(r"console_scripts[\"']?\s*(?:[:=]|\])\s*=?\s*\[([^\]]{0,4000})\]", text)
    found = re.findall(r"[\"']([^\"'\n]+=[^\"'\n]+)[\"']", scripts.group(1)) if scripts else []
    return Manifest(
        path,
        name.group(1) if name else "",
        _described(lines, said["told"] if said else "", r"description\s*="),
        _commands(lines, _pairs(found)),
    )


def _package_json(path: str, lines: _Lines) -> Manifest:
    data = _json(lines)
    name, bins = _text(data.get("name")), data.get("bin")
    if isinstance(bins, str):
        bins = {name.rpartition("/")[2]: bins}
    mains = [data.get(key) for key in ("source", "main", "module")]
    return Manifest(
        path,
        name,
        _described(lines, data.get("description"), r"\"description\"\s*:"),
        _commands(lines, bins if isinstance(bins, dict) else {}),
        tuple(_located(lines, [(text, text) for text in mains if isinstance(text, str)])),
        _dependencies(lines, [*_table(data, "dependencies"), *_table(data, "peerDependencies")]),
    )


def _composer_json(path: str, lines: _Lines) -> Manifest:
    data = _json(lines)
    bins = [text for text in data.get("bin") or () if isinstance(text, str)]
    needed = [name for name in _table(data, "require") if "/" in name]
    described = _described(lines, data.get("description"), r"\"description\"\s*:")
    commands = _commands(lines, {posixpath.basename(text): text for text in bins})
    return Manifest(path, _text(data.get("name")), described, commands, (), _dependencies(lines, needed))


def _cargo(path: str, lines: _Lines) -> Manifest:
    data = tomllib.loads("\n".join(lines))
    package, bins = _table(data, "package"), data.get("bin")
    named = {_text(each.get("name")): _text(each.get("path")) for each in bins or () if isinstance(each, dict)}
    return Manifest(
        path,
        _text(package.get("name")),
        _described(lines, package.get("description"), r"description\s*="),
        _commands(lines, named),
        (),
        _dependencies(lines, list(_table(data, "dependencies"))),
    )


def _go_mod(path: str, lines: _Lines) -> Manifest:
    module = next((line.split()[1] for line in lines if line.startswith("module ") and len(line.split()) > 1), "")
    needed = [
        Declared(found.group(1), number)
        for number, line in enumerate(lines, 1)
        if (found := re.match(r"(?:require\s+|\t)([\w.-]+\.[\w.-]+/\S+)\s+v", line)) and "// indirect" not in line
    ]
    name = "/".join(re.sub(r"/v\d+$", "", module).split("/")[-2:])
    return Manifest(path, name, dependencies=tuple(needed[:MAX_DEPENDENCIES]))


def _by_patterns(name: str, described: str, needed: str = "") -> Callable[[str, _Lines], Manifest]:
    """Return a reader that finds name and description by expressions with a group `told`."""
    of_name, of_text = re.compile(name), re.compile(described)

    def read(path: str, lines: _Lines) -> Manifest:
        named = next((found["told"] for line in lines if (found := of_name.search(line[:1000]))), "")
        text = next((found for line in lines if (found := of_text.search(line[:1000]))), None)
        opening = re.escape(text.group()[: text.start("told") - text.start()]) if text else ""
        required = [found["told"] for line in lines if needed and (found := re.search(needed, line[:1000]))]
        told = text["told"] if text else ""
        # A string that the next line goes on with is cut behind its last whole sentence.
        goes_on = text is not None and text.string[text.end() :].strip() in {"\\", "+"}
        description = _described(lines, f"{told}\n…" if goes_on else told, opening)
        return Manifest(path, named, description, dependencies=_dependencies(lines, required))

    return read


def _gemspec(path: str, lines: _Lines) -> Manifest:
    """Return what a gem declares; its commands are files of the folder `bindir`."""
    text = "\n".join(lines)
    folder = re.search(r"\.bindir\s*=\s*[\"']([\w/.-]+)[\"']", text)
    listed = _EXECUTABLES.search(text)
    number = text.count("\n", 0, listed.start()) + 1 if listed else 0
    names = re.findall(r"[\w.-]+", listed["told"]) if listed else []
    below = folder.group(1) if folder else "bin"
    commands = tuple(Declared(name, number, f"{below}/{name}") for name in names[:MAX_COMMANDS])
    return replace(_of_gem(path, lines), commands=commands)


def _pom(path: str, lines: _Lines) -> Manifest:
    text = "\n".join(lines)
    head = _POM_BLOCKS.sub(lambda found: "\n" * found.group().count("\n"), text)
    name = re.search(r"<artifactId>\s*([^<\s]+)", head)
    said = re.search(r"<description>\s*([^<]{3,2000}?)\s*</description>", head)
    told = None
    if said is not None:
        first = head.count("\n", 0, said.start(1)) + 1
        flat = " ".join(said.group(1).split())
        sentence = re.split(r"(?<=[.!?])\s", flat, maxsplit=1)[0][:MAX_DESCRIPTION_CHARS]
        last = head.count("\n", 0, said.end(1)) + 1
        told = Quoted(sentence, first, last) if _LETTERS.search(sentence) else None
    return Manifest(path, name.group(1) if name else "", told)


def _table(data: Any, *keys: str) -> dict[str, Any]:
    """Return a table below others; empty where there is none, or something else in its place."""
    for key in keys:
        data = data.get(key) if isinstance(data, Mapping) else None
    return dict(data) if isinstance(data, Mapping) else {}


def _json(lines: _Lines) -> dict[str, Any]:
    data = json.loads("\n".join(lines))
    return data if isinstance(data, dict) else {}


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _described(lines: _Lines, value: object, opening: str) -> Quoted | None:
    """Return a description with the line that holds it behind `opening`; None where no single line does.

    Of several lines the first counts, as far as its last whole sentence where the next one goes on with it.
    """
    first, _, more = _text(value).partition("\n")
    text = first.strip()[:MAX_DESCRIPTION_CHARS]
    if more.split("\n")[0].strip():
        whole = _WHOLE_SENTENCES.match(text)
        text = whole.group() if whole else ""
    if len(_LETTERS.findall(text)) < 2 and len(text) < 6:
        return None
    begins = re.compile(opening, re.IGNORECASE) if opening else None
    found = [number for number, line in enumerate(lines, 1) if text in line]
    best = [number for number in found if begins is not None and begins.search(lines[number - 1])]
    return Quoted(text, (best or found)[0], (best or found)[0]) if found else None


def _pairs(entries: Iterable[str]) -> dict[str, str]:
    """Return the names and targets of `name = target` entries."""
    parted = [entry.partition("=") for entry in entries if "=" in entry]
    return {name.strip(): target.strip() for name, _, target in parted if name.strip()}


def _commands(lines: _Lines, named: Mapping[str, object]) -> tuple[Declared, ...]:
    return tuple(_located(lines, [(name, _text(target)) for name, target in named.items()]))[:MAX_COMMANDS]


def _located(lines: _Lines, named: Iterable[tuple[str, str]]) -> Iterator[Declared]:
    """Yield each name and target with the line that holds both, or else the one with the target."""
    for name, target in named:
        if not name:
            continue
        both = (n for n, line in enumerate(lines, 1) if name in line and target in line)
        either = (n for n, line in enumerate(lines, 1) if target and target in line)
        line = next(both, None) or next(either, None)
        if line is not None:
            yield Declared(name, line, target)


def _dependencies(lines: _Lines, texts: Iterable[str]) -> tuple[Declared, ...]:
    found = []
    for text in texts:
        name = text if text.startswith("@") or "/" in text else ""
        matched = _REQUIREMENT.match(text)
        name = name or (matched.group(1) if matched else "")
        line = next(_lines_with(lines, name), None) if name else None
        if line is not None:
            found.append(Declared(name, line))
    return tuple({each.name: each for each in found}.values())[:MAX_DEPENDENCIES]


def _lines_with(lines: _Lines, name: str) -> Iterator[int]:
    """Yield the lines that begin with a name, then those that have it as a whole word."""
    whole = rf"(?<![\w.-]){re.escape(name)}(?![\w-])"
    for search in (re.compile(rf"\W{{0,40}}{whole}").match, re.compile(whole).search):
        yield from (number for number, line in enumerate(lines, 1) if search(line[:1000]))


_STRING = r"(?P<quote>[\"'])(?P<told>[^\n]{3,400}?)(?P=quote)"
_EXECUTABLES = re.compile(r"\.executables\s*(?:\+?=|<<)\s*(?:%w)?(?P<told>[\[({][^\])}]{0,400}|[\"'][\w.-]+[\"'])")
_of_gem = _by_patterns(
    r"\.name\s*=\s*" + _STRING,
    r"\.(?:summary|description)\s*=\s*" + _STRING,
    r"\.add_(?:runtime_)?dependency\b[\s(]*" + _STRING,
)
_READERS: tuple[tuple[re.Pattern[str], Callable[[str, _Lines], Manifest]], ...] = (
    (re.compile(r"pyproject\.toml"), _pyproject),
    (re.compile(r"cargo\.toml"), _cargo),
    (re.compile(r"package\.json"), _package_json),
    (re.compile(r"composer\.json"), _composer_json),
    (re.compile(r"go\.mod"), _go_mod),
    (re.compile(r"setup\.cfg"), _setup_cfg),
    (re.compile(r"setup\.py"), _setup_py),
    (re.compile(r"pom\.xml"), _pom),
    (re.compile(r".+\.gemspec"), _gemspec),
    (
        re.compile(r"(?:build|settings)\.gradle(?:\.kts)?"),
        _by_patterns(r"rootProject\.name\s*=\s*" + _STRING, r"^\s*description\s*=?\s*" + _STRING),
    ),
    (
        re.compile(r".+\.(?:csproj|fsproj|nuspec|props)"),
        _by_patterns(
            r"<(?:PackageId|AssemblyName|id)>(?P<told>[^<]+)<",
            r"<[dD]escription>(?P<told>[^<]{3,400})<",
            r"<PackageReference\s+Include=\"(?P<told>[^\"]+)\"",
        ),
    ),
    (
        re.compile(r"cmakelists\.txt"),
        _by_patterns(r"^\s*(?i:project)\s*\(\s*(?P<told>[\w.-]+)", r"\bDESCRIPTION\s+\"(?P<told>[^\"\n]{3,400})\""),
    ),
)
