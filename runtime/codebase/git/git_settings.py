"""The few settings of a repository's configuration that say how its data is stored, read as text and never by git.

    settings = parse_settings(text)
    settings.last("core", "worktree")                     the value that counts, or None
    carried_settings(settings)                            lines for a configuration of our own

What the repository wrote never reaches git as it is: a value is carried over only when it is one of a few words that
are listed here, or a plain name of a reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from runtime.errors import RepositoryError

REFUSED = "git is not used here"
"""How the message of every refusal begins."""

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
    """The error for a repository that is there, and that git is not run on."""
    return RepositoryError(f"{REFUSED}: {reason}")


@dataclass(slots=True)
class Settings:
    """Values by section, subsection ("" for none) and key, in the order in which they stand; None: a key alone."""

    values: dict[tuple[str, str, str], list[str | None]] = field(default_factory=dict)

    def add(self, section: str, subsection: str, key: str, value: str | None) -> None:
        self.values.setdefault((section, subsection, key), []).append(value)

    def all(self, section: str, key: str, subsection: str = "") -> list[str]:
        """Every value of a key, the last one counting most."""
        return [value for value in self.values.get((section, subsection, key), ()) if value is not None]

    def last(self, section: str, key: str, subsection: str = "") -> str | None:
        """The value that counts."""
        found = self.all(section, key, subsection)
        return found[-1] if found else None

    def switch(self, section: str, key: str) -> bool | None:
        """The value that counts as true or false; None when it is not set, or is neither."""
        found = self.values.get((section, "", key))
        if not found:
            return None
        value = "true" if found[-1] is None else found[-1].lower()
        return True if value in _TRUE else False if value in _FALSE else None

    def subsections(self, section: str) -> list[str]:
        """The subsections of a section, each once."""
        return list(dict.fromkeys(sub for name, sub, _ in self.values if name == section and sub))


def parse_settings(*texts: str) -> Settings:
    """The settings of configuration files, later ones counting more. Included files are not read.

    Never fails: a line that is no setting is passed over.
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
    """The value that begins at a position, and where the next line does."""
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
    """Configuration of our own for the same data: how objects and references are stored, and what files look like.

    RepositoryError when the repository is stored in a way that is not known here.
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
    """Settings of how data is stored where that is not git's oldest way."""
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
    """The reference here that stands for what a branch follows elsewhere; None when it cannot be told."""
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
