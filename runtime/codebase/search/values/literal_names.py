"""Finds the literals that names get in lines of code, each with what its line says of the name.

A name that another line of its function binds, or that code counts up, has no value to tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from runtime.codebase.resolution.default_values.counted_names import counted_names
from runtime.codebase.resolution.default_values.site_roles import is_filled_in, role_of
from runtime.codebase.resolution.default_values.site_surroundings import TESTS
from runtime.codebase.resolution.default_values.value_expressions import absent_name, path_of
from runtime.codebase.resolution.default_values.value_sites import FileValues, Site, key_of
from runtime.codebase.search.values.literal_forms import (
    MAX_LINE_CHARS,
    MAX_SUBJECT_CHARS,
    FoundLiteral,
    LiteralForm,
    literal_text,
)

# A condition stands at most so many lines above what holds under it.
MAX_CONDITION_LINES = 4


def literals_of_names(
    values: FileValues, text: str, lines: Sequence[str], first: int, last: int
) -> Iterator[FoundLiteral]:
    """Yield the literals that names get in a range of lines."""
    sites = [site for site in values.within(first, last) if TESTS not in site.around.conditions]
    states = counted_names(text)
    for site in sites:
        value = literal_text(site.value)
        form = _form_of(site, values) if value and site.name not in states else None
        if form is None or _is_overridden(site, sites):
            continue
        subject = _subject_of(site, lines[site.line - 1])
        start = _line_of_absence(site, subject, lines) if form == "fallback" else site.line
        if subject and start:
            yield FoundLiteral(form, subject, value, site.line, start)


def _form_of(site: Site, values: FileValues) -> LiteralForm | None:
    if site.form == "member" or site.value is None:
        return None
    if site.value.has_fallback or site.joins or site.form == "guard" or _is_filled(site):
        return "fallback"
    if role_of(site, values.syntax) == "default":
        return "default"
    if site.form in {"entry", "keyword"}:
        return "entry" if site.form == "entry" else "keyword"
    return "binding" if site.around.depth else "constant"


def _is_filled(site: Site) -> bool:
    """Return whether a name gets a value where it, or the same member of another object, has none."""
    absent = absent_name(site.around.conditions[0]) if site.form == "binding" and site.around.conditions else None
    path = path_of(absent) if absent is not None else ()
    is_of_other = len(path) > 1 and len(site.path) > 1 and path != site.path
    return is_filled_in(site) or (is_of_other and key_of(path[-1]) == key_of(site.name))


def _subject_of(site: Site, line: str) -> str:
    """Return the name as it stands in its line: that which is read first, where something else is taken for it."""
    if site.value is not None and site.value.primary:
        return site.value.primary if len(site.value.primary) <= MAX_SUBJECT_CHARS else ""
    name = site.path[-1]
    written = [joint.join(site.path) for joint in (".", "->", "::")] if len(site.path) > 1 else []
    quoted = [f'"{name}"', f"'{name}'"] if site.form == "entry" else []
    return next((one for one in (*written, *quoted, name) if len(one) <= MAX_SUBJECT_CHARS and one in line), name)


def _line_of_absence(site: Site, subject: str, lines: Sequence[str]) -> int:
    """Return the line that says that a name has no value, at or above that which gives it one; 0 if none is near."""
    if site.value is not None and site.value.primary and site.form != "guard" and subject in lines[site.line - 1]:
        return site.line
    if site.joins:
        return site.line
    above = range(site.line - 1, max(0, site.line - 1 - MAX_CONDITION_LINES), -1)
    last = key_of(subject.rpartition(".")[2])
    return next((number for number in above if last in key_of(lines[number - 1][:MAX_LINE_CHARS])), 0)


def _is_overridden(site: Site, sites: Sequence[Site]) -> bool:
    """Return whether another line of the same function binds the name of a site, where this one does not fill it in."""
    fills = _is_filled(site)
    return any(
        other.form == "binding"
        and other.path[-1] == site.path[-1]
        and other.around.function == site.around.function
        and other.start_line != site.start_line
        and (not fills or (other.start_line > site.start_line and not _is_otherwise(other, site)))
        and site.form not in {"fallback", "guard"}
        and not (site.value is not None and site.value.has_fallback)
        for other in sites
    )


def _is_otherwise(other: Site, site: Site) -> bool:
    """Return whether a line is reached where the condition of another one does not hold."""
    return other.around.conditions[:1] == (f"not ({site.around.conditions[0]})",)
