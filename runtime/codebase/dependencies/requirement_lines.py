"""Reads metadata files that have one dependency on a line: those of pip, Go and Ruby, and setup.cfg."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from runtime.codebase.dependencies.requirement import REQUIREMENT, Group, Row, group_of

_Lines = Sequence[str]

# What pip installs from an address: `-e git+https://host/foo.git#egg=foo`.
_ADDRESS = re.compile(r"\s*+(?:-e\b|--editable\b|[a-z]++(?:\+[a-z]++)?://).*?[#&]egg=([A-Za-z0-9][\w.-]*+)")


def requirements_txt(path: str, lines: _Lines) -> Iterator[Row]:
    """Yield what pip installs by name; files that are included are read by themselves."""
    group = group_of(path)
    is_continued = False
    for number, line in enumerate(lines, 1):
        found = None if is_continued else (_ADDRESS.match(line) or REQUIREMENT.match(line))
        if found is not None:
            yield Row(found.group(1), number, group)
        is_continued = line.rstrip().endswith("\\")


_SECTION = re.compile(r"\[([^\]]{1,100})\]")
_SETUP_LISTS: Mapping[str, Group] = {
    "install_requires": "runtime",
    "tests_require": "development",
    "setup_requires": "build",
}


def setup_cfg(path: str, lines: _Lines) -> Iterator[Row]:
    """Yield what the options of setuptools and the extras list."""
    section, group = "", None
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith(("#", ";")):
            continue
        if not line[0].isspace():
            if (header := _SECTION.match(line)) is not None:
                section, group = header.group(1), None
                continue
            mark = re.search(r"[=:]", line)
            key, text = (line[: mark.start()].strip(), line[mark.end() :]) if mark is not None else ("", "")
            group = _group_of_option(section, key)
        found = REQUIREMENT.match(text) if group is not None else None
        if group is not None and found is not None:
            yield Row(found.group(1), number, group)


def _group_of_option(section: str, key: str) -> Group | None:
    """Return what the list behind a key is needed for; None for other keys."""
    if section == "options":
        return _SETUP_LISTS.get(key.lower())
    # A marker in place of a name begins with a colon.
    return group_of(key, "optional") if section == "options.extras_require" and key else None


def go_mod(path: str, lines: _Lines) -> Iterator[Row]:
    """Yield the modules that are required, not those that are excluded, or put in the place of others."""
    block = ""
    for number, line in enumerate(lines, 1):
        code, _, note = line.partition("//")
        fields = code.replace("(", " ( ").split()
        if block and fields[:1] == [")"]:
            block = ""
            continue
        directive, told = (block, fields) if block else (fields[0] if fields else "", fields[1:])
        if told[:1] == ["("]:
            block = directive
        elif directive == "require" and len(told) == 2 and "." in told[0]:
            yield Row(told[0].strip('"`'), number, "indirect" if note.strip().startswith("indirect") else "runtime")


_GEM = re.compile(r"\s*+gem\b[\s(]*+[\"']([\w.-]++)[\"']")
_GEM_GROUP = re.compile(r"(\s*+)group\b(.{1,200}?)\bdo\b")
_GEM_END = re.compile(r"(\s*+)end\b")
_GROUP_OF_GEM = re.compile(r"\bgroups?(?::|\"?\s*+=>)(.{1,100})")
_GEMSPEC = re.compile(r"\.add_(runtime_|development_)?dependency\b[\s(]*+(?:%q?[<(\[{]|[\"'])([\w.-]++)")


def gemfile(path: str, lines: _Lines) -> Iterator[Row]:
    """Yield the gems of a Gemfile; a group ends where a line that is indented like its own does."""
    group, indent = "", ""
    for number, line in enumerate(lines, 1):
        if (block := _GEM_GROUP.match(line)) is not None:
            indent, group = block.group(1), block.group(2)
        elif (end := _GEM_END.match(line)) is not None and end.group(1) == indent:
            group = ""
        elif (gem := _GEM.match(line)) is not None:
            inline = _GROUP_OF_GEM.search(line, gem.end())
            yield Row(gem.group(1), number, group_of(inline.group(1) if inline is not None else group))


def gemspec(path: str, lines: _Lines) -> Iterator[Row]:
    """Yield the gems of a gem's own description; those in a loop have no name on the line."""
    for number, line in enumerate(lines, 1):
        found = _GEMSPEC.search(line)
        if found is not None and not line.lstrip().startswith("#"):
            yield Row(found.group(2), number, "development" if found.group(1) == "development_" else "runtime")
