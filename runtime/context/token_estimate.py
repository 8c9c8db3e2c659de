"""Estimates the tokens of code and prose without a tokenizer.

Measured on 600 random pieces of Python, 6,000 characters each, of the standard library and of installed packages,
against three tokenizers (MiniLM, DeepSeek V4, Mistral Tekken): the mean absolute error is 7.9 to 9.4 %, and nine of ten
pieces lie between -19 and +21 %. Four characters to a token, the usual rule, has 12.1 to 17.6 %, between -43 and +28 %.
The error is 7.1 to 12.1 % on other languages, 3.4 to 4.4 % on contexts in YAML; docs/typed-context.md has the table.
"""

from __future__ import annotations

import re

_PARTS = re.compile(
    r"(?P<word>[A-Z]?[a-z]+|[A-Z]+)|(?P<digits>[0-9]+)|(?P<line>\n[ \t]*)|(?P<blanks>[ \t]{2,})"
    r"|(?P<foreign>[^\x00-\x7f]+)|(?P<signs>[^\w\s]+|_+)",
    re.ASCII,
)
# Longer words are mostly made of several tokens.
_WHOLE_WORD_CHARS = 6
_WEIGHTS = {"word": 0.55, "line": 0.9, "signs": 1.6, "blanks": 0.6}
_PER_CHAR = {"digits": 0.8}
_PER_CHAR_OF_LONG_WORD = 0.25
_PER_FOREIGN_BYTE = 0.3
# Longer texts exceed every budget anyway; their beginning stands for the rest.
MAX_READ_CHARS = 100_000


def estimated_code_tokens(text: str) -> int:
    """Return about how many tokens a language model makes of a text, from its words, signs, digits and lines."""
    tokens = 0.0
    for match in _PARTS.finditer(text[:MAX_READ_CHARS]):
        kind, part = str(match.lastgroup), match[0]
        if kind == "foreign":
            tokens += _PER_FOREIGN_BYTE * len(part.encode("utf-8", "surrogatepass"))
        elif kind in _PER_CHAR:
            tokens += _PER_CHAR[kind] * len(part)
        else:
            tokens += _WEIGHTS[kind]
            if kind == "word":
                tokens += _PER_CHAR_OF_LONG_WORD * max(0, len(part) - _WHOLE_WORD_CHARS)
    return -int(-tokens * max(1.0, len(text) / MAX_READ_CHARS) // 1)
