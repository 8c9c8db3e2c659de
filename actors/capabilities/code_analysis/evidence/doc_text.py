"""Converts documentation comments with XML, Javadoc or HTML markup to plain text. Pure."""

from __future__ import annotations

import re

from runtime.codebase.search.prose.markup import without_tags

_SUMMARY = re.compile(
    r"<summary>\s*(.*?)\s*(?:</summary>|<(?:param|returns|remarks|exception|typeparam|example)\b|$)", re.S
)


def readable(text: str) -> str:
    """Return a documentation comment without its markup; of XML documentation only the summary."""
    found = _SUMMARY.search(text)
    # Blank lines end sentences.
    parts = (found.group(1) if found else text).split("\n\n")
    return "\n\n".join(without_tags(part) for part in parts).strip()
