"""Reads the dependencies of build files: those of Maven, Gradle, MSBuild and CMake."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence

from runtime.codebase.dependencies.requirement import Group, Row, group_of

_Lines = Sequence[str]

_POM_TAG = re.compile(
    r"<(?P<block>/?+(?:dependency|exclusion|plugin))\s*+>|<(?P<field>groupId|artifactId|scope|optional)>\s*+([^<\s]*+)"
)
_PROPERTY = re.compile(r"<([\w.-]{1,100})>\s*+([^<>\s]++)\s*+</")
# A few steps are enough for a property that is given by another one.
_GIVEN = re.compile(r"\$\{([\w.-]{1,100})\}")


def pom(path: str, lines: _Lines) -> Iterator[Row]:
    """Yield what a Maven project needs, as `group:artifact` with the line of the artifact; not its own modules."""
    shown = _without_comments(lines)
    given = {name: value for line in shown for name, value in _PROPERTY.findall(line)}
    told: dict[str, tuple[str, int]] | None = None
    outside: set[str] = set()
    for number, line in enumerate(shown, 1):
        for block, field, text in _POM_TAG.findall(line):
            if block == "dependency":
                told = {}
            elif block == "/dependency":
                yield from _of_pom(told or {}, given, "plugin" in outside)
                told = None
            elif block:
                (outside.discard if block[0] == "/" else outside.add)(block.lstrip("/"))
            elif told is not None and "exclusion" not in outside:
                told.setdefault(field, (_GIVEN.sub(lambda name: given.get(name[1], name[0]), text), number))


def _of_pom(told: Mapping[str, tuple[str, int]], given: Mapping[str, str], is_of_plugin: bool) -> Iterator[Row]:
    """Yield the row of one dependency; one of the project's own group is another part of it."""
    if "artifactId" not in told or "groupId" not in told:
        return
    (artifact, at), organisation = told["artifactId"], told["groupId"][0]
    if organisation.startswith(("${project.", "${pom.")):
        return
    group: Group = "development" if told.get("scope", ("", 0))[0] == "test" else "runtime"
    if told.get("optional", ("", 0))[0] == "true":
        group = "optional"
    yield Row(f"{organisation}:{artifact}", at, "build" if is_of_plugin else group)


def _without_comments(lines: _Lines) -> list[str]:
    """Return the lines of an XML file with nothing in place of comments."""
    shown: list[str] = []
    is_inside = False
    for line in lines:
        kept: list[str] = []
        at = 0
        while at < len(line):
            mark = "-->" if is_inside else "<!--"
            found = line.find(mark, at)
            kept.append("" if is_inside else line[at : found if found >= 0 else len(line)])
            if found < 0:
                break
            is_inside, at = not is_inside, found + len(mark)
        shown.append("".join(kept))
    return shown


_GRADLE = re.compile(
    r"\b(?P<how>(?:[a-z]\w*)?(?:implementation|api|compileOnly|runtimeOnly|compile|kapt|ksp|annotationProcessor|classpath)"
    r"|[a-z]\w*(?:Implementation|Api|CompileOnly|RuntimeOnly|Classpath))\s*+\(?+\s*+(?:(?:enforcedP|p)latform\s*+\(\s*+)?"
    r"(?:[\"'](?P<name>[\w.-]++:[\w.-]++)"
    r"|group\s*+[:=]\s*+[\"'](?P<group>[\w.-]++)[\"']\s*+,\s*+name\s*+[:=]\s*+[\"'](?P<artifact>[\w.-]++))",
)
_FOR_BUILDING = frozenset({"classpath", "kapt", "ksp", "annotationProcessor"})


def gradle(path: str, lines: _Lines) -> Iterator[Row]:
    """Yield what the configurations of a Gradle file name by `group:artifact`."""
    is_comment = False
    for number, line in enumerate(lines, 1):
        text = line.lstrip()
        # Elsewhere the mark is most often a part of a pattern of files, as in "**/*.kt".
        is_comment = is_comment or text.startswith("/*")
        found = None if is_comment or text.startswith("//") else _GRADLE.search(line)
        is_comment = is_comment and "*/" not in line
        if found is not None:
            how = found["how"]
            name = found["name"] or f"{found['group']}:{found['artifact']}"
            yield Row(name, number, "build" if how in _FOR_BUILDING else group_of(how))


_PACKAGE = re.compile(
    r"<Package(?:Reference|Version)\s[^<>]{0,300}?\b(?:Include|Update)\s*+=\s*+[\"']([\w.-]++)[\"']", re.IGNORECASE
)
_FIND_PACKAGE = re.compile(r"\s*+(?i:find_package)\s*+\(\s*+([A-Za-z][\w.+-]*+)")


def msbuild(path: str, lines: _Lines) -> Iterator[Row]:
    """Yield the packages of a project of .NET; those of folders of tests are for development."""
    group = group_of(posixpath.dirname(path))
    for number, line in enumerate(_without_comments(lines), 1):
        yield from (Row(found.group(1), number, group) for found in _PACKAGE.finditer(line))


def cmake(path: str, lines: _Lines) -> Iterator[Row]:
    """Yield the packages that CMake looks for."""
    group = group_of(posixpath.dirname(path))
    for number, line in enumerate(lines, 1):
        if (found := _FIND_PACKAGE.match(line)) is not None:
            yield Row(found.group(1), number, group)
