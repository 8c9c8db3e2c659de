"""Strips the markup of quoted sentences and recognises those that were cut through it.

Handles the inline markup of reStructuredText, Javadoc, JSDoc, troff and HTML; code in backticks stays as it is. Pure
functions.
"""

from __future__ import annotations

import html
import re

from runtime.primitives.dotted_names import last_part

# What separates paragraphs of a manual page; macros that only choose a typeface go on with the paragraph.
TROFF_MACRO = re.compile(r"\s*[.'](?:\\\"|(?!(?:B|I|BR|BI|RB|RI|IR|IB|SM|SB)\b)[A-Z][A-Za-z]?(?:\s|$))")
_TYPEFACE = re.compile(r"^\s*\.(?:B|I|BR|BI|RB|RI|IR|IB|SM|SB)\s+")
_TROFF = re.compile(r"\\f(?:[BIRPW]|\(\w\w|\[\w*\])|\\(?:&|,|/|\|)")
_TROFF_SIGN = re.compile(r"\\(?:\(bu|\(em|\(en|\(aq|\(dq|\(oq|\(cq|-|e)")
_SIGNS = {r"\-": "-", r"\(em": "—", r"\(en": "–", r"\(aq": "'", r"\(dq": '"', r"\e": "\\"}
_ROLE = re.compile(r"(?<![\w`:])(?::[A-Za-z][\w+.-]*){1,3}:`([^`]{1,300})`(?!`)")
_HYPERLINK = re.compile(r"(?<![\w`])`([^`<>]{1,200}?)\s*<[^`<>\s]{1,300}>`__?(?!\w)")
_FOOTNOTE = re.compile(r"\s?\[(?:#?\w{0,20}|\*)\]_(?!\w)")
_TARGET = re.compile(r"\s*<[^<>]{1,300}>$")
# `{@code x}`, `{@link Type#member label}`: the label when there is one.
_INLINE_TAG = re.compile(r"\{@(\w+)\s+([^{}\s]*)\s*([^{}]*)\}")
# Tags that a sentence does without; others are part of what it says.
_TAG = re.compile(
    r"</?(?:p|br|li|ul|ol|dl|dt|dd|para|code|tt|pre|blockquote|summary|remarks|returns)(?:\s[^<>]{0,200})?/?>", re.I
)
# All tags of documentation comments, and references by an attribute: `<see cref="Depot"/>`.
_ANY_TAG = re.compile(
    r"</?(?:summary|remarks|para|param|typeparam|returns|value|exception|example|see|seealso|inheritdoc|list|item|term"
    r"|description|c|a|p|b|i|em|strong|code|pre|tt|ul|ol|li|br|h[1-6]|span|div|blockquote|kbd|table|tr|td|th)"
    r"(?:\s[^<>]{0,200})?/?>",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"<(?:see|seealso|paramref|typeparamref)\s+(?:cref|name|langword|href)=\"(?:\w:)?([^\"<>]{0,200})\"\s*/?>"
)
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|nbsp|#\d{1,5}|mdash|ndash|hellip);")
_CODE = re.compile(r"(?<![`:])(`+)(?!`)(?:(?!\1).)+?\1(?![`_])")
_PICTURE = re.compile(
    r"!\[|\[!\[|\[\]\(|<(?:img|a|div|span|table|t[dhr]|center|picture|source|sub|sup|details)\b", re.I
)
_SUBSTITUTION = re.compile(r"(?<![\w|])\|[\w-]+(?: [\w-]+)?\|(?![\w|])")
# Of a Python docstring whose text begins on its second line.
_CONTINUED = re.compile(r"^\s*\\\s+")
_LITERAL_BLOCK = re.compile(r"(?<=\w)::$")
_BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"))


def without_markup(text: str) -> str:
    """Return a text without inline markup and the typefaces of manual pages, white space counted as one blank.

    The result has no markup left that a second call would strip.
    """
    text = _CONTINUED.sub("", text)
    text = _TROFF.sub("", _TROFF_SIGN.sub(lambda found: _SIGNS.get(found.group(), "-"), _TYPEFACE.sub("", text)))
    shown: list[str] = []
    last = 0
    text = _INLINE_TAG.sub(_inline, _HYPERLINK.sub(r"\1", _ROLE.sub(_role, text)))
    for code in _CODE.finditer(text):
        shown += [_plain(text[last : code.start()]), code.group()]
        last = code.end()
    joined = "".join((*shown, _plain(text[last:])))
    return _LITERAL_BLOCK.sub(":", " ".join(joined.split()))


def without_tags(text: str) -> str:
    """Return a documentation comment without any tag: references by the last part of what they name."""
    shown = _INLINE_TAG.sub(_inline, _REFERENCE.sub(lambda found: last_part(found.group(1)), text))
    return " ".join(html.unescape(_ANY_TAG.sub("", shown)).split())


def is_damaged(text: str) -> bool:
    """Return whether a sentence without markup is cut within brackets or code, or is a picture or table of links."""
    if _PICTURE.search(text) or _SUBSTITUTION.search(text) or TROFF_MACRO.match(text):
        return True
    outside = _CODE.sub("", text)
    if outside.count("`") % 2 or outside.count("**") % 2:
        return True
    return any(outside.count(opened) != outside.count(closed) for opened, closed in _BRACKETS)


def _plain(text: str) -> str:
    text = _FOOTNOTE.sub("", _TAG.sub(" ", text)) if "<" in text or "]_" in text else text
    return _ENTITY.sub(lambda found: html.unescape(found.group()), text) if "&" in text else text


def _role(match: re.Match[str]) -> str:
    told = match.group(1)
    shown = _TARGET.sub("", told)
    if shown != told:
        return shown
    name = told.rpartition(".")[2] if told[0] == "~" else told.lstrip("!.")
    return f"`{name}`" if name else ""


def _inline(match: re.Match[str]) -> str:
    kind, first, rest = match.groups()
    if kind in {"link", "linkplain"}:
        return rest or first.lstrip("#").replace("#", ".")
    return f"{first} {rest}".strip()
