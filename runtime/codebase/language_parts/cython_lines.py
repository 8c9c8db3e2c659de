"""Writes Cython as the Python that says the same, line by line, for Python's grammar to judge."""

from __future__ import annotations

import re

ENDINGS = (".pyx", ".pxi")
# What may stand in for the file's path where a language is chosen by it.
AS_PYTHON = "cython.py"
_FUNCTION = re.compile(
    r"^(?P<indent>[ \t]*)(?:(?:cdef|cpdef)\b[^\n=(:]*?|def[ \t]+)(?P<name>\w+)[ \t]*"
    r"\((?P<taken>[^()]*(?:\([^()]*\)[^()]*)*)\)"
    r"(?P<after>[^\n:=]*):(?=[ \t]*(?:$|[^\s=]))",
    re.MULTILINE,
)
_CLASS = re.compile(r"^([ \t]*)(?:cdef|cpdef)[ \t]+(?:public[ \t]+|api[ \t]+)*class\b", re.MULTILINE)
_ASSIGNED = re.compile(r"^([ \t]*)cdef\b[^\n=(:]*?(\w+[ \t]*=(?!=))", re.MULTILINE)
_DECLARED = re.compile(r"^([ \t]*)(?:cdef|ctypedef)\b[^\n=():]*$", re.MULTILINE)
_UNLOCKED = re.compile(r"^([ \t]*)with[ \t]+(?:nogil|gil)[ \t]*:", re.MULTILINE)
_IMPORTED = re.compile(r"^([ \t]*(?:from[ \t]+[\w.]+[ \t]+)?)cimport\b", re.MULTILINE)
# Behind an operator or a bracket: `a < b and c > (d)` compares.
_CAST = re.compile(
    r"(?:(?<=[=(,\[+*/-])|(?<=[=(,\[+*/-] )|(?<=return ))<[ \t]*[A-Za-z_][\w. \t]*\**\??[ \t]*>(?=[ \t]*[\w(&])"
)
_NAME = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)?$")


def is_cython(path: str) -> bool:
    """Return whether a path is one of Cython with bodies of functions; declarations alone are not judged."""
    return path.endswith(ENDINGS)


def as_python(text: str) -> str:
    """Return Cython in Python's syntax with as many lines: types, casts and locks are left out."""
    told = _FUNCTION.sub(_defined, _CLASS.sub(r"\1class", text))
    told = _ASSIGNED.sub(r"\1\2", told)
    told = _DECLARED.sub(r"\1pass", told)
    told = _UNLOCKED.sub(r"\1if 1:", told)
    return _CAST.sub("", _IMPORTED.sub(r"\1import", told))


def _defined(found: re.Match[str]) -> str:
    taken = ",".join(map(_parameter, found["taken"].split(",")))
    return f"{found['indent']}def {found['name']}({taken}):" + "\n" * found["after"].count("\n")


def _parameter(declared: str) -> str:
    """Return a parameter without its type, on as many lines."""
    named, equals, default = declared.partition("=")
    name = _NAME.search(named.strip())
    stars = "*" * (len(named.strip()) - len(named.strip().lstrip("*"))) if named.strip().startswith("*") else ""
    return "\n" * named.count("\n") + (stars + name.group(1) if name else named.strip()) + equals + default
