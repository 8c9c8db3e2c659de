"""Defines what a repository declares to depend on, and how two spellings of a name are held to be one."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

# The registry, or other source, that packages are published in; languages name theirs (`Language.ecosystem`).
Ecosystem = Literal["pypi", "go", "crates", "npm", "composer", "rubygems", "maven", "nuget", "system"]
# What it is needed for: to run; with an extra alone; to develop or test; to build; by another dependency alone.
Group = Literal["runtime", "optional", "development", "build", "indirect"]

# A host, an owner and a repository.
LEAST_WITH_OWNER = 2
_MARKS = re.compile(r"[-_.\s]+")
_MAJOR = re.compile(r"/v\d+$|\.v\d+$")


@dataclass(frozen=True, slots=True)
class Requirement:
    """Holds one dependency that a metadata file declares, and the line that does; `name` as it is published.

    `alias`: what the code calls it, where the file gives it a name of its own.
    """

    name: str
    file: str
    line: int
    group: Group
    ecosystem: Ecosystem
    alias: str = ""


class Row(NamedTuple):
    """Holds what a reader of metadata files finds: the fields of `Requirement` that differ within a file."""

    name: str
    line: int
    group: Group
    alias: str = ""


# A name, with extras, ahead of nothing, a version, a marker, a comment, an address, an option or a continued line.
REQUIREMENT = re.compile(r"\s*+([A-Za-z0-9][\w.-]*+)\s*+(?:\[[^\]]{0,200}\])?\s*+(?:$|[=<>!~;@,#(\\]|--)")
# Such words stand alone or begin with a capital letter: not in `latest`, `docker` or `device`.
_FOR_TESTS = re.compile(
    r"(?:(?<![A-Za-z])|(?=[A-Z]))(?i:dev(?:el(?:opment)?)?|(?:py|ko|unit)?tests?|testing|lint\w{0,4}|docs?|ci|typing"
    r"|checks?|bench(?:marks?)?|examples?)(?![a-z])"
)


def group_of(said: str, otherwise: Group = "runtime") -> Group:
    """Return what a dependency is needed for by what its list, extra, file or folder is called."""
    return "development" if _FOR_TESTS.search(said) else otherwise


def plain(name: str) -> str:
    """Return a name in lower case, with one kind of mark: `Requests_Toolbelt` → `requests-toolbelt`."""
    return _MARKS.sub("-", name.strip().lower())


def short_names(requirement: Requirement) -> frozenset[str]:
    """Return what people call a dependency, each plain: its name, and of a path or scope also the last part.

    `github.com/spf13/pflag` is also `spf13/pflag` and `pflag`, `@scope/pkg` is `pkg`, `io.group:artifact` is `artifact`
    and `group`.
    """
    name = _MAJOR.sub("", requirement.name)
    parts = re.split(r"[/:]", name)
    names = {requirement.name, requirement.alias, name, parts[-1]}
    if requirement.ecosystem == "maven":
        names.add(parts[0].rpartition(".")[2])
    if requirement.ecosystem == "go":
        names.add("/".join(parts[-2:]))
        # «gobwas» is `github.com/gobwas/glob`.
        names.update(parts[-2:-1] if len(parts) > LEAST_WITH_OWNER else ())
        names.add(parts[-1].removeprefix("go-").removesuffix("-go"))
    return frozenset(plain(each) for each in names if len(each) > 1)


def is_lock_file(path: str) -> bool:
    """Return whether a file lists versions that a program resolved, whatever anybody declared."""
    name = posixpath.basename(path).lower()
    return name.endswith((".lock", "-lock.json", "-lock.yaml", ".sum", ".lockfile")) or name in _LOCKS


_LOCKS = frozenset({"npm-shrinkwrap.json", "packages.lock.json", "bun.lockb"})
