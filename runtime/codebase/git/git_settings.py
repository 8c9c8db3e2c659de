"""Parses a repository's configuration as text and carries over its storage settings.

    settings = parse_settings(text)
    settings.last("core", "worktree")                     the value that counts, or None
    carried_settings(settings)                            lines for a configuration of our own

The repository's text never reaches git verbatim: a value is carried over only if it is one of the words listed here, or
a plain reference name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from runtime.errors import RepositoryError

REFUSED = "git is not used here"
# What a refusal says of a file, such as a named pipe, on which git would block.
WOULD_WAIT = "which git would wait for"
"""The prefix of every refusal's message."""

_HEADER = re.compile(r'[ \t]*\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\[^\n])*)")?[ \t]*\][ \t]*')
_KEY = re.compile(r"[ \t]*([A-Za-z][A-Za-z0-9-]*)[ \t]*(=?)[ \t]*")
_VALUE_PART = re.compile(r'\\\r?\n|\\.|"|[#;]|\n|[^\\"#;\n]+|\\')
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}

_TRUE, _FALSE = frozenset({"true", "yes", "on", "1"}), frozenset({"false", "no", "off", "0", ""})
_SWITCHES = ("filemode", "symlinks", "ignorecase", "precomposeunicode", "sparsecheckout", "sparsecheckoutcone")
_WORDS = {
    "autocrlf": frozenset({"true", "false", "input"}),
    "eol": frozenset({"lf", "crlf", "native"}),
    "checkstat": frozenset({"default", "minimal"}),
}
_STORAGE = {
    "objectformat": frozenset({"sha1", "sha256"}),
    "refstorage": frozenset({"files", "reftable"}),
}
_HARMLESS_EXTENSIONS = frozenset(
    {"noop", "noop-v1", "partialclone", "preciousobjects", "relativeworktrees", "submodulepathconfig", "worktreeconfig"}
)
_MAX_RULES = 20
_PLAIN_NAME = re.compile(r"[^\x00-\x20\x7f~^:?*\[\\]+")


def refused(reason: str) -> RepositoryError:
    """Return the error for a repository that exists but on which git is not run."""
    return RepositoryError(f"{REFUSED}: {reason}")


@dataclass(slots=True)
class Settings:
    """Holds values by section, subsection ("" for none) and key, in file order; None for a key without a value."""

    values: dict[tuple[str, str, str], list[str | None]] = field(default_factory=dict)

    def add(self, section: str, subsection: str, key: str, value: str | None) -> None:
        self.values.setdefault((section, subsection, key), []).append(value)

    def all(self, section: str, key: str, subsection: str = "") -> list[str]:
        """Return every value of a key in file order; the last one is in force."""
        return [value for value in self.values.get((section, subsection, key), ()) if value is not None]

    def last(self, section: str, key: str, subsection: str = "") -> str | None:
        """Return the value in force; None if the key has no value."""
        found = self.all(section, key, subsection)
        return found[-1] if found else None

    def switch(self, section: str, key: str) -> bool | None:
        """Return the value in force as a boolean; None if it is not set, or is not a boolean."""
        found = self.values.get((section, "", key))
        if not found:
            return None
        value = "true" if found[-1] is None else found[-1].lower()
        return True if value in _TRUE else False if value in _FALSE else None

    def subsections(self, section: str) -> list[str]:
        """Return the subsections of a section, each once."""
        return list(dict.fromkeys(sub for name, sub, _ in self.values if name == section and sub))


def parse_settings(*texts: str) -> Settings:
    """Parse configuration files, later ones overriding earlier ones. Included files are not read.

    Never fails: a line that is not a setting is skipped.
    """
    settings = Settings()
    for text in texts:
        for section, subsection, key, value in _entries(text.removeprefix("\ufeff").replace("\r\n", "\n")):
            settings.add(section, subsection, key, value)
    return settings


def _entries(text: str) -> Iterator[tuple[str, str, str, str | None]]:
    section, subsection, position = "", "", 0
    while position < len(text):
        if header := _HEADER.match(text, position):
            position = header.end()
            section, _, older = header.group(1).lower().partition(".")
            subsection = older if header.group(2) is None else re.sub(r"\\(.)", r"\1", header.group(2))
        elif section and (key := _KEY.match(text, position)):
            value: str | None = None
            position = key.end()
            if key.group(2):
                value, position = _value(text, position)
            else:
                position = _line_end(text, position)
            yield section, subsection, key.group(1).lower(), value
        else:
            position = _line_end(text, position)


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end + 1


def _value(text: str, position: int) -> tuple[str, int]:
    """Return the value that begins at a position, and the position of the next line."""
    parts: list[str] = []
    quoted = False
    while part := _VALUE_PART.match(text, position):
        token, position = part.group(), part.end()
        if token == "\n":
            break
        if token in "#;" and not quoted:
            position = _line_end(text, position)
            break
        if token == '"':
            quoted = not quoted
        elif token[0] != "\\":
            parts.append(token)
        elif token[-1] != "\n":
            parts.append(_ESCAPES.get(token[1:], token[1:]))
    return "".join(parts).strip(" \t"), position


def carried_settings(settings: Settings) -> str:
    """Return the lines of a configuration for the same data: storage of objects and references, and file conversions.

    RepositoryError if the repository's format version or one of its extensions is not supported here.
    """
    storage = _storage(settings)
    lines = ["[core]", f"\trepositoryFormatVersion = {int(bool(storage))}"]
    for key in _SWITCHES:
        wanted = settings.switch("core", key)
        if wanted is not None:
            lines.append(f"\t{key} = {str(wanted).lower()}")
    for key, words in _WORDS.items():
        value = (settings.last("core", key) or "").lower()
        if value in words:
            lines.append(f"\t{key} = {value}")
    if storage:
        lines += ["[extensions]", *(f"\t{key} = {value}" for key, value in storage.items())]
    for branch in settings.subsections("branch"):
        followed = _followed(settings, branch)
        if followed:
            lines += [f"[branch {_quoted(branch)}]", "\tremote = .", f"\tmerge = {_quoted(followed)}"]
    return "\n".join([*lines, ""])


def _storage(settings: Settings) -> dict[str, str]:
    """Return the storage extensions (object format, reference storage) that the repository sets."""
    storage: dict[str, str] = {}
    version = settings.last("core", "repositoryformatversion") or "0"
    if version not in ("0", "1"):
        raise refused(f"the repository has format version {version!r}; 0 and 1 can be read")
    for name, _, key in settings.values:
        if name != "extensions":
            continue
        value = (settings.last("extensions", key) or "").lower()
        if key in _STORAGE and value in _STORAGE[key]:
            storage[key] = value
        elif key in _STORAGE or (key not in _HARMLESS_EXTENSIONS and version == "1"):
            raise refused(f"the repository uses the extension {key} = {value!r}, which cannot be read")
    return storage


def _followed(settings: Settings, branch: str) -> str | None:
    """Return the local reference that tracks a branch's upstream; None if it is unknown."""
    remote, merged = settings.last("branch", "remote", branch), settings.last("branch", "merge", branch)
    if not remote or not merged or not _PLAIN_NAME.fullmatch(branch):
        return None
    if remote == ".":
        return merged if _is_reference(merged) else None
    for rule in settings.all("remote", "fetch", remote)[:_MAX_RULES]:
        theirs, _, ours = rule.removeprefix("+").partition(":")
        before, star, after = theirs.partition("*")
        if not star:
            found = ours if merged == theirs else None
        elif merged.startswith(before) and merged.endswith(after) and len(merged) >= len(before) + len(after):
            found = ours.replace("*", merged[len(before) : len(merged) - len(after)], 1)
        else:
            found = None
        if found and _is_reference(found):
            return found
    return None


def _is_reference(name: str) -> bool:
    return name.startswith("refs/") and ".." not in name and _PLAIN_NAME.fullmatch(name) is not None


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
