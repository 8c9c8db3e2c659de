"""Tells lines of code that say something from imports, exports and bare signatures.

A reader who asks how a thing is done learns nothing from the line that imports it, nor from a signature alone. The same
few words begin such lines in most languages; a line that is not recognised counts as saying something.
"""

from __future__ import annotations

import re

MAX_LINE_CHARS = 400

_IMPORT = re.compile(
    r"\s*(?:import\b|from\s+\S+\s+import\b|(?:pub(?:\([^)]*\))?\s+)?(?:use|mod|extern\s+crate)\s|package\s+[\w.]+;?\s*$"
    r"|#\s*include\b|using\s+(?:static\s+)?[\w.]+\s*;|require(?:_relative|_once)?[\s(]|include_once\b"
    r"|(?:const|let|var)\s+[^=]{0,200}=\s*(?:await\s+import|require)\s*\(|\}\s*from\s*['\"])"
)
_EXPORT = re.compile(
    r"\s*(?:export\s+(?:\*|\{|type\s*\{|default\s+[\w$]+\s*;?\s*$)|module\.exports\b|exports\.[\w$]+\s*=\s*[\w$.]+;?\s*$"
    r"|__all__\s*=)"
)
_MODIFIER = (
    r"(?:(?:public|private|protected|internal|static|final|abstract|async|export|default|pub(?:\([^)]*\))?|override"
    r"|virtual|inline|unsafe|readonly|declare|sealed|extern|synchronized|get|set|suspend|open|data)\s+)*"
)
_NAMED_HEAD = re.compile(
    rf"\s*{_MODIFIER}(?:def|func|fun|function\*?|fn|class|struct|interface|trait|impl|enum|module|record|protocol)\b"
    r"[^=]{0,300}?(?:[{:(,]|\.\.\.|;)?\s*$"
)
# A function without a word for it: a name, its parameters, and the bracket of its body.
_BRACED_HEAD = re.compile(
    rf"\s*{_MODIFIER}(?:[\w$<>\[\],.?*&:]{{1,80}}\s+){{0,4}}[\w$#~]+(?:<[^>]{{0,80}}>)?"
    r"\([^()]{0,200}(?:\([^()]{0,80}\)[^()]{0,80}){0,4}\)"
    r"\s*(?:(?:->|:)[^={;]{1,120}|throws\s[\w,. ]{1,120}|const|noexcept|override)?\s*\{\s*$"
)
_STATEMENT = re.compile(
    r"\s*\}?\s*(?:else|if|for|foreach|while|switch|catch|return|with|match|loop|try|do|unless|elif|case|when|using|lock)\b"
)
_OTHER_BRANCH = re.compile(
    r"\s*\}?\s*(?:else|elif|elsif|elseif|catch|except|rescue|finally|ensure|case|when|default)\b"
)
_RETURNS_NOTHING = re.compile(
    r"\s*(?:return(?: (?:None|nil|null|undefined|err|error|self|this|\(\)))?|break|continue|pass|next)\s*;?\s*\}?\s*$"
)
_DECORATOR = re.compile(r"\s*@[\w.]+\s*$")


def imports_or_exports(line: str) -> bool:
    """Return whether a line only fetches names from elsewhere, or passes them on."""
    cut = line[:MAX_LINE_CHARS]
    return _IMPORT.match(cut) is not None or _EXPORT.match(cut) is not None


def says_nothing(line: str) -> bool:
    """Return whether a line of code is an import, an export, a bare decorator, or a signature without a body."""
    cut = line[:MAX_LINE_CHARS]
    if imports_or_exports(cut) or _DECORATOR.match(cut):
        return True
    if _NAMED_HEAD.match(cut):
        return True
    return _BRACED_HEAD.match(cut) is not None and not _STATEMENT.match(cut)


def begins_other_branch(line: str) -> bool:
    """Return whether a line begins a further branch, or a case, of what stands above it."""
    return _OTHER_BRANCH.match(line[:MAX_LINE_CHARS]) is not None


def returns_nothing(line: str) -> bool:
    """Return whether a line only leaves, without a value or with an error that another line made."""
    return _RETURNS_NOTHING.match(line[:MAX_LINE_CHARS]) is not None
