"""What a thing is extended at: the open type that is called so, or the function that does it."""

from __future__ import annotations

from collections.abc import Collection

from actors.capabilities.code_analysis.question.listing_scope import BASE, is_open_type
from runtime.codebase.files.words import split_identifier, stem

OPEN_TYPE_BONUS, DOER_BONUS, SHARE_BONUS = 3.0, 3.0, 0.8


def extension_bonus(
    name: str, kind: str, signature: str, docstring: str, deed: Collection[str], thing: Collection[str]
) -> float:
    """What a place gains as the answer to how something is added; 0 for most.

    `deed` and `thing` are terms: what is done, and what it is done to, the last of them its head. An open type that is
    called after the thing, and a function that is named after both and nothing else. A class is open as well when its
    documentation says so.
    """
    if not thing:
        return 0.0
    last = name.rpartition(".")[2]
    words = [stem(part) for part in split_identifier(last) if len(part) > 1]
    if not words:
        return 0.0
    things = [term for term in thing if term not in deed]
    share = sum(word in things or word in BASE for word in words) / len(words)
    head = things[-1:] or list(thing)[-1:]
    if is_open_type(name, kind, signature, docstring) and words[-1:] == head:
        return OPEN_TYPE_BONUS + SHARE_BONUS * share
    is_doer = kind in {"function", "method"} and set(words) <= {*things, *deed}
    if is_doer and set(words) & set(deed) and set(words) & set(things):
        return DOER_BONUS
    return 0.0
