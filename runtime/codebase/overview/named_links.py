"""Finds which files use types of others in languages whose files need no import for that.

Ruby loads files by `autoload` or a convention, and C# imports namespaces, which no file has for itself. A type that is
defined once, and called so by the file, leads to the file that defines it. Pure functions.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from runtime.codebase.index.records import SymbolRecord
from runtime.codebase.overview.part_names import CONTAINERS, plain_name

NAMING = ("ruby", "c_sharp")
LEAST_NAME_CHARS = 4
# Types of the languages themselves, of which a file may mean one by the bare name.
_NAMES_OF_LANGUAGE = """
    Action Array Attribute Basic Boolean Client Comparable Config Configuration Connection Context Data Date
    DateTime Digest Element Encoder Encoding Entry Enumerable Enumerator Environment Error Event Exception
    Extensions File Filter Float Func Handler Hash Header Headers Helpers Http Index Integer Item Json Kernel Lambda
    List Logger Message Method Model Module Monitor Mutex Node Null Number Object Option Options Parser Path
    Pathname Process Query Queue Random Range Regexp Request Resource Response Result Rule Server Service Session
    Signal Socket State Status Stream String Struct Symbol Table Task Template Test Thread Time Timeout Token Tuple
    Type Types User Util Utils Value Version View
"""
_BUILT_IN = frozenset(_NAMES_OF_LANGUAGE.split())

NameUse = tuple[str, str, str, int]


def single_types(definitions: Sequence[SymbolRecord], languages: Mapping[str, str | None]) -> dict[str, SymbolRecord]:
    """Return the types of languages without imports of files that one definition alone bears, by name.

    In Ruby those in a file that is called so: any other file may open a type of others again.
    """
    found = [
        one
        for one in definitions
        if languages.get(one.file) in NAMING
        and one.kind in CONTAINERS
        and len(one.name) >= LEAST_NAME_CHARS
        and (languages.get(one.file) != "ruby" or _is_called_so(one))
    ]
    counts = Counter(one.name for one in found)
    # A name that others are qualified with is used by all.
    around = {one.owner.partition(".")[0] for one in definitions if one.owner}
    return {one.name: one for one in found if counts[one.name] == 1 and one.name not in around}


def links_by_names(
    uses: Iterable[NameUse], types: Mapping[str, SymbolRecord], languages: Mapping[str, str | None]
) -> list[tuple[str, str, int]]:
    """Return (file, defining file, line) for the uses of types: (file, name, qualifier, line).

    A name behind others counts where the last of them are those around the definition; one that the language may mean
    by itself counts only so.
    """
    found: dict[tuple[str, str], int] = {}
    for file, name, qualifier, line in uses:
        one = types[name]
        if (
            one.file != file
            and languages.get(file) == languages.get(one.file)
            and _is_meant(name, qualifier, one.owner)
        ):
            place = (file, one.file)
            found[place] = min(line, found.get(place, line))
    return [(file, target, line) for (file, target), line in sorted(found.items())]


def _is_called_so(one: SymbolRecord) -> bool:
    return plain_name(posixpath.splitext(posixpath.basename(one.file))[0]) == plain_name(one.name)


def _is_meant(name: str, qualifier: str, owner: str) -> bool:
    around = _parts(qualifier)
    if not around:
        return name not in _BUILT_IN
    return _parts(owner)[-len(around) :] == around


def _parts(qualified: str) -> Sequence[str]:
    return [part for part in qualified.replace("::", ".").strip(".").split(".") if part]
