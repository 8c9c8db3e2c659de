"""Says by line patterns how a language without a grammar writes functions, and bodies that do nothing.

A definition is rewritten in the words that are known of all languages (`function NAME`, `pass`), so that its body is
judged as that of any other. Only plain ones are: a head with a condition, such as a pattern or a guard, says something.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

NEVER_MATCHES = r"(?!)"
MAX_BODY_LINES = 400
# More above a head are no head's: to look for any number at every line would take time that grows with its square.
MAX_ANNOTATIONS = 8
_CLOSES = re.compile(r"\s*(?:\}|end\b)")
_NAME = r"\(\?P<name>"
_NO_HEAD = rf"(?P<name>{NEVER_MATCHES})"
_ANNOTATION = r"@\w+(?:\([^()\n]{0,200}\))?"
_GROUP = r"\([^();]{0,200}\)"
_PARAMETERS = rf"\((?:[^();]|{_GROUP}){{0,400}}\)"
_NO_NAME = r"(?!(?:if|for|while|switch|catch|on|else|return|assert|throw|new|do|try|with|synchronized|when)\b)"
_PROMISE = r"""["'][^"'\n]{0,200}?(?i:not\s+(?:yet\s+)?implemented|todo)[^"'\n]{0,200}["']"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineBodies:
    """Says by patterns how functions and empty bodies are written. Patterns of heads begin at the start of a line."""

    # Heads of functions with a group `name`: those whose body is a block, and those whose body is a value behind them.
    blocks: str = _NO_HEAD
    values: str = _NO_HEAD
    # What surrounds or announces functions, and is no work beside an empty one: signatures, annotations, their class.
    around: str = NEVER_MATCHES
    # Lines that give nothing where a head stands before them, and those that do nothing wherever they stand.
    empty: str = NEVER_MATCHES
    idle: str = NEVER_MATCHES

    def in_common_words(self, text: str) -> str:
        """Return a text with its plain definitions and what does nothing written as in most languages.

        A head behind which nothing stands is left as it is: its body may be anywhere.
        """
        text, blocks = _replaced(rf"{self.blocks}(?=\s*\S)", "function \\g<name>\n", text, behind="{")
        text, values = _replaced(rf"{self.values}(?=\s*\S)", "function \\g<name>\n", text, behind="{")
        text, idle = _replaced(_line(self.idle), "pass", text, behind="{;")
        if blocks or values or idle:
            text, _ = _replaced(self.around, "", text)
            text, _ = _replaced(_line(self.empty), "pass", text)
        return text

    def end_of_body(self, lines: Sequence[str], start: int, end: int) -> int:
        """Return the last line, from 1, of the body of the last definition whose head is in a range; else its end."""
        said = "\n".join(lines[start - 1 : end])
        heads = re.finditer(
            rf"^[ \t]*(?:{re.sub(_NAME, '(', self.blocks)}|{re.sub(_NAME, '(', self.values)})", said, re.MULTILINE
        )
        head = max((found.start() for found in heads), default=None)
        if head is None:
            return end
        indent = _indent(lines[start - 1 + said.count("\n", 0, head)])
        last = end
        for number in range(end + 1, min(len(lines), end + MAX_BODY_LINES) + 1):
            line = lines[number - 1]
            is_end = _indent(line) == indent and _CLOSES.match(line) is not None
            if line.strip() and _indent(line) <= indent and not is_end:
                break
            last = number
            if is_end:
                break
        return last


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _line(statement: str) -> str:
    return rf"(?:return\s+)?(?:{statement})[ \t]*[.,;]?[ \t]*(?=$|\}})"


def _replaced(pattern: str, by: str, text: str, *, behind: str = "") -> tuple[str, int]:
    """Replace what stands at the start of a line, or `behind` one of some marks on it."""
    start = rf"(?:^|(?<=[{behind}]))" if behind else "^"
    return re.subn(rf"{start}[ \t]*(?:{pattern})", by, text, flags=re.MULTILINE)


_BRACED_HEAD = (
    rf"(?:{_ANNOTATION}\s+){{0,{MAX_ANNOTATIONS}}}"
    r"(?:(?:[A-Za-z_][\w.]*(?:<[^();={}\n]{0,80}>)?(?:\[\])*\??)[ \t]+){0,6}"
    rf"{_NO_NAME}(?P<name>[a-z_$]\w*)[ \t]*(?:<[^();={{}}\n]{{0,80}}>)?{_PARAMETERS}"
)
_EMPTY_VALUE = r"""(?:const\s+)?(?:<[\w<>, ?]*>)?(?:null|0(?:\.0)?|false|''|""|\[\]|\{\}|\(\))"""

DART = LineBodies(
    blocks=rf"{_BRACED_HEAD}\s*(?:async\*?|sync\*)?\s*\{{",
    values=rf"{_BRACED_HEAD}\s*(?:async)?\s*=>\s*",
    around=rf"{_ANNOTATION}[ \t]*$|(?:abstract\s+)?(?:class|mixin)\s+\w+\s*\{{",
    empty=rf"{_EMPTY_VALUE}|Future(?:<[\w<>, ?]*>)?\.value\((?:null)?\)",
    idle=r"throw\s+UnimplementedError\([^;\n]*\)",
)
GROOVY = LineBodies(blocks=rf"{_BRACED_HEAD}\s*\{{", around=rf"{_ANNOTATION}[ \t]*$")
HASKELL = LineBodies(
    values=r"(?P<name>[a-z_][\w']*)(?:[ \t]+(?:_\w*|[a-z][\w']*))+[ \t]*=(?![=>])\s*+(?:do\b)?+",
    around=r"[a-z_][\w']*(?:\s*,\s*[a-z_][\w']*)*\s*::[^\n]*",
    empty=r"""(?:(?:return|pure)\s*(?:\$\s*)?)?(?:Nothing|mempty|\[\]|\(\)|""|False|0)""",
    idle=r"(?:[a-z_][\w']*[ \t]*=\s*)?(?:do\s+)?"
    rf"(?:(?:return|pure)\s*(?:\$\s*)?\(\)|undefined|error\s*(?:\$\s*)?{_PROMISE})",
)
ERLANG = LineBodies(
    values=r"(?P<name>[a-z]\w*)\((?:\s*(?:_\w*|[A-Z]\w*)\s*,?){0,20}\)\s*->\s*",
    around=r"-spec\b[^.]{0,2000}\.",
    empty=r"ok|undefined|nil|\[\]|\{\}|<<>>|false|0|\{\s*error\s*,\s*not_implemented\s*\}",
    idle=rf"(?:erlang:)?(?:error|throw|exit)\(\s*(?:not_?(?:yet_?)?implemented|todo|undef|{_PROMISE})\s*\)",
)
ELIXIR = LineBodies(
    blocks=r"def(?:p|macrop?)?\s+(?P<name>[a-z_]\w*[?!]?)(?:\((?:\s*[a-z_]\w*\s*,?){0,20}\))?\s+do[ \t]*$",
    values=r"def(?:p|macrop?)?\s+(?P<name>[a-z_]\w*[?!]?)(?:\((?:\s*[a-z_]\w*\s*,?){0,20}\))?\s*,\s*do:\s*",
    around=r"@(?:impl|spec|doc|since)\b[^\n]*|defmodule\s+[\w.]+\s+do[ \t]*$",
    empty=r"""nil|:ok|\{\s*:ok\s*,\s*nil\s*\}|\[\]|%\{\}|\{\}|""|false|0""",
    idle=r"\{\s*:error\s*,\s*:not_implemented\s*\}",
)
JULIA = LineBodies(
    values=r"(?P<name>[a-z_]\w*!?)\((?:\s*\w+(?:::[\w.{}]+)?\s*,?){0,20}\)\s*=(?!=)\s*",
    empty=r"nothing|missing",
    idle=rf"error\(\s*{_PROMISE}\s*\)",
)
ZIG = LineBodies(idle=rf"(?:return\s+)?error\.(?:Not_?Implemented|Unimplemented|Todo|TODO)|@panic\(\s*{_PROMISE}\s*\)")
PERL = LineBodies(idle=rf"(?:die|croak|confess)\b\s*\(?\s*{_PROMISE}\s*\)?")
R = LineBodies(idle=rf"stop\(\s*{_PROMISE}\s*\)|invisible\(\s*(?:NULL)?\s*\)")
POWERSHELL = LineBodies(
    idle=rf"throw\s+\(?\s*(?:\[\w+(?:\.\w+)*\]::new\()?\s*{_PROMISE}\s*\)*|return\s+\$null|param\s*\([^()\n]{{0,400}}\)"
)
