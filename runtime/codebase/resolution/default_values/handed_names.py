"""Finds the values of names that a function reads into a variable and fills in there where they lack.

`n := s.limit; if n <= 0 { n = 5 }`: what the variable gets where it has no value, `limit` has by default.
"""

from __future__ import annotations

from collections.abc import Iterator

from runtime.codebase.resolution.default_values.site_roles import is_filled_in
from runtime.codebase.resolution.default_values.value_sites import FileValues, Site


def sites_of(values: FileValues, name: str) -> list[Site]:
    """Return the sites of a name in a file, those of variables that stand for it among them, by line."""
    return sorted((*values.named(name), *_through_variables(values, name)), key=lambda site: site.start_line)


def _through_variables(values: FileValues, name: str) -> Iterator[Site]:
    for path, read, is_own in values.handed_on(name):
        if not read.around.depth or len(read.path) != 1 or read.around.conditions:
            continue
        filled = [site for site in values.named(read.name) if _is_filled(site, read)]
        # What is filled in twice is no single default.
        for site in filled if len(filled) == 1 else ():
            owner = site.around.owner if is_own else ""
            around = site.around._replace(conditions=site.around.conditions[1:], owner=owner)
            yield site._replace(form="fallback", path=path, around=around)


def _is_filled(site: Site, read: Site) -> bool:
    one, other = site.around, read.around
    is_same = (site.path, one.function, one.owner) == (read.path, other.function, other.owner)
    return is_same and site.start_line > read.start_line and is_filled_in(site)
