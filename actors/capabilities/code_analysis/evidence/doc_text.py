"""Converts documentation comments with XML, Javadoc or HTML markup to plain text. Pure."""

from __future__ import annotations

import html
import re

from runtime.primitives.dotted_names import last_part

_SUMMARY = re.compile(
    r"<summary>\s*(.*?)\s*(?:</summary>|<(?:param|returns|remarks|exception|typeparam|example)\b|$)", re.S
)
_REFERENCE = re.compile(
    r"<(?:see|seealso|paramref|typeparamref)\s+(?:cref|name|langword|href)=\"(?:\w:)?([^\"]*)\"\s*/?>"
)
# Only names of tags, so that `List<String>` stays what it is.
_TAG = re.compile(
    r"</?(?:summary|remarks|para|param|typeparam|returns|value|exception|example|see|seealso|inheritdoc|list|item|term"
    r"|description|c|a|p|b|i|em|strong|code|pre|tt|ul|ol|li|br|h[1-6]|span|div|blockquote|kbd|table|tr|td|th)"
    r"(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
# `{@code x}`, `{@link Type#member label}`: the label when there is one.
_INLINE = re.compile(r"\{@(\w+)\s+([^{}\s]*)\s*([^{}]*)\}")


def readable(text: str) -> str:
    """Return a documentation comment without its markup; of XML documentation only the summary."""
    found = _SUMMARY.search(text)
    shown = found.group(1) if found else text
    shown = _REFERENCE.sub(lambda match: last_part(match.group(1)), shown)
    shown = _INLINE.sub(_worded, shown)
    return html.unescape(_TAG.sub("", shown)).strip() if "<" in shown or "&" in shown else shown.strip()


def _worded(match: re.Match[str]) -> str:
    kind, first, rest = match.groups()
    if kind in {"link", "linkplain"}:
        return rest or first.lstrip("#").replace("#", ".")
    return f"{first} {rest}".strip()
