"""Counts the lines of an excerpt that decide something, and those that only declare, log or list.

A place whose lines share words with a question often does no more than declare, import or record: the words stand in
its signature. Recognised by how lines begin in most languages; read by `leading_place`, which learned what each kind is
worth, and by the writer of further places.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from runtime.codebase.search.prose.comment_lines import OpenText, comment_lines

MAX_LINE_CHARS = 400

_MODIFIERS = (
    r"(?:(?:public|private|protected|internal|static|final|async|export|default|pub(?:\([^)]{0,40}\))?|override"
    r"|virtual|inline|abstract|extern|unsafe|const)\s+){0,6}"
)
_IMPORT = (
    r"import\b|from\s+\S+\s+import\b|use\s+[\w:\\{]|using\s|require(?:_once|_relative)?\b|#\s*include\b"
    r"|package\s|namespace\s|export\s+\*|(?:const|let|var)\s.{1,80}=\s*require\("
)
_LOG = (
    r"(?:\w+(?:\.|->|::)){0,6}(?:_?log(?:ger|ging)?|LOG(?:GER|_\w+)?|console|slog|debug|warn(?:ing)?|trace)s?"
    r"(?:\.\w+)?!?\("
)
_DEFINES = rf"{_MODIFIERS}(?:def|fn|func|function|class|struct|interface|trait|impl|enum|module)\b"
_HEAD = rf"{_DEFINES}[^=]*$"
_TYPED_HEAD = r"(?:public|private|protected|internal)\s[^=;]*\([^=;]*$"
_BARE = re.compile(rf"(?:{_IMPORT}|@\w|{_LOG}|{_HEAD}|{_TYPED_HEAD})")
_CONDITION = re.compile(
    r"\}?\s*(?:else\s+)?(?:if|unless|while|catch)\b|(?:elif|elsif|case|switch|match|when|except|rescue|guard)\b"
)
_OUTCOME = re.compile(r"\b(?:return|yield|raise|throw|panic|abort|reject|if|unless)\b")
_ASSIGNMENT = re.compile(r"[\w\])\"'*]\s?(?:\?\?|\|\||[:+*/|&-])?=(?![=>~])")
_DEFINITION = re.compile(_DEFINES)
_ARGUMENT = re.compile(r"(?:,|[(\[])\s*\\?$")
_LITERAL = re.compile(r"[\"'\[{(}\]\d)]|[\w\"'.-]+\s?:\s")


class LineKinds(NamedTuple):
    """Holds how many lines of code an excerpt has, and how many of them are of each kind.

    `bare`: imports, decorators, calls of a log, and signatures; `literal`: entries of a list or table, and what closes
    a bracket; `deciding`: conditions, assignments, and what ends a function.
    """

    code: int
    bare: int
    literal: int
    deciding: int


def line_kinds(text: str, within: OpenText | None = None) -> LineKinds:
    """Count the lines of an excerpt by kind; comments, documentation strings and blank lines are no code.

    `within`: the comment or string in which the first line begins.
    """
    lines = text.split("\n")
    marked = zip(lines, comment_lines(lines, within), strict=True)
    code = [line.strip()[:MAX_LINE_CHARS] for line, is_comment in marked if line.strip() and not is_comment]
    return LineKinds(
        len(code),
        sum(_BARE.match(line) is not None for line in code),
        sum(_LITERAL.match(line) is not None for line in code),
        sum(_decides(line) for line in code),
    )


def deciding_lines(text: str, first_line: int, within: OpenText | None = None) -> list[list[tuple[int, str]]]:
    """Return the lines of code that decide something, stripped, each with its number, a condition with its outcome.

    `first_line` is the number of the first line, `within` the comment or string in which that begins. Signatures,
    calls of a log, arguments and what only opens a bracket decide nothing.
    """
    lines = text.split("\n")
    marked = enumerate(zip(lines, comment_lines(lines, within), strict=True), first_line)
    code = [(number, line.strip()) for number, (line, is_comment) in marked if line.strip() and not is_comment]
    found = []
    for at, (number, line) in enumerate(code):
        cut = line[:MAX_LINE_CHARS]
        is_other = _BARE.match(cut) or _DEFINITION.match(cut) or _ARGUMENT.search(cut)
        if _decides(cut) and not is_other:
            found.append([(number, line), *(code[at + 1 : at + 2] if _CONDITION.match(cut) else [])])
    return found


def _decides(line: str) -> bool:
    return any((_CONDITION.match(line), _OUTCOME.search(line), _ASSIGNMENT.search(line)))
