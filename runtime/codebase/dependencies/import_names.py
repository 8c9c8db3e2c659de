"""Tells which imports are of a dependency, by how its ecosystem names what is imported.

Packages are published under one name and imported under another. Most are known by a rule; the exceptions stand in
tables. Where several dependencies could be meant, the one is whose name says most of what is imported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from runtime.codebase.dependencies.published_names import (
    FILES_OF_RUBYGEMS,
    MODULES_OF_PYPI,
    NAMESPACES_OF_COMPOSER,
    PACKAGES_OF_MAVEN,
)
from runtime.codebase.dependencies.requirement import Ecosystem, Requirement, plain
from runtime.codebase.index.records import ImportRecord

_SPLIT = re.compile(r"[^A-Za-z0-9]+")
# Words of artifacts that name no package.
_ANY_ARTIFACT = frozenset({"core", "api", "maven", "java", "kotlin", "lib", "jvm"})
_NOT_IMPORTED = ("-plugin", "-bom", "-parent")
# What a word of an artifact tells more than a letter of its group.
_OF_WORD = 10
# Their namespaces, or files, are resolved by name alone, whosever they are.
_BY_NAME_ALONE = frozenset[Ecosystem]({"nuget", "composer", "rubygems"})


def fit(requirement: Requirement, imported: ImportRecord) -> int:
    """Return how much of an import the name of a dependency tells; 0 if it is not of that dependency.

    A module of the repository itself is none, however it is called.
    """
    if imported.target is not None and requirement.ecosystem not in _BY_NAME_ALONE:
        return 0
    module = imported.module
    if requirement.ecosystem == "pypi" and imported.name not in ("", "*"):
        module = f"{module}.{imported.name}"
    return _RULES[requirement.ecosystem](requirement.alias or requirement.name, module)


def module_names(requirement: Requirement) -> tuple[str, ...]:
    """Return what the modules of a Python or Rust dependency are called; empty for others."""
    if requirement.ecosystem == "crates":
        return ((requirement.alias or requirement.name).replace("-", "_"),)
    if requirement.ecosystem != "pypi":
        return ()
    name = plain(requirement.name)
    return MODULES_OF_PYPI.get(name, (name.replace("-", "_"), name.replace("-", ".")))


def _below(module: str, names: Iterable[str], mark: str) -> int:
    """Return the length of the longest of some names that a module has or is below."""
    return max((len(name) for name in names if module == name or module.startswith(f"{name}{mark}")), default=0)


def _pypi(name: str, module: str) -> int:
    wanted = plain(name)
    known = MODULES_OF_PYPI.get(wanted)
    if known is not None:
        return _below(module, known, ".")
    return _below(module.lower(), (wanted.replace("-", "_"), wanted.replace("-", ".")), ".")


def _go(name: str, module: str) -> int:
    return _below(module, (name,), "/")


def _crates(name: str, module: str) -> int:
    """Compare the first part of a path, of which the index drops blanks: `use log as l` is `logasl`."""
    own, crate = name.replace("-", "_"), module.removeprefix("::")
    is_renamed = re.fullmatch(r"as\w+", crate.removeprefix(own)) is not None and crate.startswith(own)
    return len(own) if is_renamed else _below(crate, (own,), "::")


def _npm(name: str, module: str) -> int:
    return _below(module, (name.removeprefix("@types/"),), "/")


def _rubygems(name: str, module: str) -> int:
    return _below(module, FILES_OF_RUBYGEMS.get(name, (name, name.replace("-", "/"), name.replace("-", "_"))), "/")


def _composer(name: str, module: str) -> int:
    """Compare by vendor and package: the namespace `Symfony\\Component\\Console` has both of `symfony/console`."""
    parts = [part.lower() for part in module.strip("\\").split("\\")]
    known = NAMESPACES_OF_COMPOSER.get(name.lower())
    if known is not None:
        return 1 if parts[0] in known else 0
    vendor, _, package = name.lower().partition("/")
    words = [word for word in _SPLIT.split(package) if word]
    owner, flat = vendor.replace("-", ""), "".join(words)
    if parts[0] not in (owner, flat):
        return 0
    has_all = flat in parts or (len(words) > 1 and set(words) <= set(parts))
    return 1 + len(flat) if has_all or owner == flat or flat.startswith(owner) else 0


def _maven(name: str, module: str) -> int:
    """Compare by the group, which begins the package or has its first name, and by the words of the artifact."""
    group, _, artifact = name.partition(":")
    known = PACKAGES_OF_MAVEN.get(name)
    if known is not None:
        return _below(module, known, ".")
    if artifact.endswith(_NOT_IMPORTED):
        return 0
    parts, places = module.split("."), group.split(".")
    words = {word for word in _SPLIT.split(artifact.lower()) if word}
    telling = words - _ANY_ARTIFACT
    begins = _below(module, (group,), ".")
    # The standard library of Kotlin is called like the group of all that its makers publish.
    if not begins and len(places) > 1 and parts[0] == places[-1] and parts[0] != "kotlin":
        begins = len(parts[0])
    is_alike = begins or (
        (parts[:2] == places[:2] and telling <= set(parts[2:])) or (parts[0] == places[-1] and telling <= set(parts))
    )
    said = words.intersection(parts)
    return max(1, begins + _OF_WORD * len(said) - len(telling - said)) if is_alike and telling else begins


def _nuget(name: str, module: str) -> int:
    return _below(module.lower(), (name.lower(),), ".")


def _system(name: str, module: str) -> int:
    return _below(re.split(r"[/.]", module.lower(), maxsplit=1)[0], (name.lower(),), "/")


_RULES: Mapping[Ecosystem, Callable[[str, str], int]] = {
    "pypi": _pypi,
    "go": _go,
    "crates": _crates,
    "npm": _npm,
    "composer": _composer,
    "rubygems": _rubygems,
    "maven": _maven,
    "nuget": _nuget,
    "system": _system,
}
