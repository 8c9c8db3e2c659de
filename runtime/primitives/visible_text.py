"""Makes characters visible that a terminal executes, hides or reorders instead of showing them.

Escaped are control characters (C0, DEL, C1), the line and paragraph separators U+2028 and U+2029, bidirectional
controls, zero-width and other default-ignorable characters, tags, noncharacters and lone surrogates. Kept are the
characters among them that ordinary writing needs: joiners between letters outside ASCII (Persian, Hindi, emoji), the
first sixteen variation selectors, and ideographic variation selectors after an ideograph.
"""

from __future__ import annotations

import re

_NONCHARACTERS = "".join(chr(plane << 16 | low) for plane in range(17) for low in (0xFFFE, 0xFFFF))
_IDEOGRAPHS = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
_ALWAYS = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and line feed, DEL, C1
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, fillers, Arabic letter mark
    "\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"  # zero width, separators, bidirectional controls
    "\ufdd0-\ufdef\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\ud800-\udfff\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"  # lone surrogates, tags
    f"{_NONCHARACTERS}"
)
_HIDDEN = re.compile(
    f"[{_ALWAYS}]"
    r"|(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])"
    f"|(?<![{_IDEOGRAPHS}])[\U000e0100-\U000e01ef]"
)


def visible(text: str) -> str:
    r"""Return the text with its hidden characters as escapes (`\x1b`, `\u202e`); lines and tabs stay."""
    return _HIDDEN.sub(_escape, text.replace("\r\n", "\n"))


def visible_line(text: str) -> str:
    r"""Return the text as one line: like `visible`, with line feeds and tabs escaped as well (`\n`, `\t`)."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def visible_json(document: str) -> str:
    r"""Return a JSON document with its hidden characters as JSON escapes (`\u202e`); its value is the same."""
    return _HIDDEN.sub(_json_escape, document)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
