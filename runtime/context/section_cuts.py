"""Shortens the sections of a context step by step: each has a list of versions, every one smaller.

The last resorts come after the versions that the rules of compaction name: the five newest facts, thirty lines of
source, the domain context with short texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from runtime.context.fact_store import CONTEXT_CONFIDENCE
from runtime.context.models import AgentContext
from runtime.context.understanding import Fact
from runtime.context.yaml_context import sections_of, understanding_section

KEPT_FACTS = 5
KEPT_SOURCE_LINES = 30

_FACT_CHARS = 120
_LINE_CHARS = 160
_SUGGESTIONS = (5, 3)
_DOMAIN_LIMITS = ((400, 20), (150, 10), (60, 3))
_DOMAIN_KEYS = 12
_SUMMARY_CHARS = (200, 100, 40)
_WHEN_CHARS = (80, 40)
_BLOCKED = 10


class Version(NamedTuple):
    """Makes a shorter version of a section; a last resort is used only after those of all other sections."""

    make: Callable[[], Any]
    is_last_resort: bool = False


def shorter_versions(context: AgentContext) -> dict[str, list[Version]]:
    """Return the versions of each section that may be cut, longest first."""
    sections = sections_of(context)
    return {
        "understanding": list(_fewer_facts(context.state.understanding.above(CONTEXT_CONFIDENCE))),
        "analysis": list(_less_source(sections["analysis"])),
        "context": list(_smaller_domain(sections["context"])),
        "recent": list(_shorter_recent(sections["recent"])),
        "actions": list(_shorter_actions(sections["actions"])),
    }


def _fewer_facts(facts: Sequence[Fact]) -> Iterator[Version]:
    """Yield the newest facts, fewer and fewer until five; at last these with short statements."""
    places = {fact.id: place for place, fact in enumerate(facts)}
    newest = sorted(facts, key=lambda fact: (fact.step, places[fact.id]), reverse=True)

    def version(count: int, most: int | None = None) -> dict[str, Any]:
        kept = {fact.id for fact in newest[:count]}
        return understanding_section([fact for fact in facts if fact.id in kept], most)

    for count in _down_to(KEPT_FACTS, len(facts)):
        yield Version(partial(version, count))
    yield Version(partial(version, KEPT_FACTS, _FACT_CHARS), is_last_resort=True)


def _less_source(section: Mapping[str, Any]) -> Iterator[Version]:
    """Yield fewer and fewer lines of source until thirty; at last fewer suggestions, and short lines."""
    lines = str(section["function_source"] or "").split("\n")
    suggestions = section["extraction_suggestions"]

    def version(count: int, suggested: int | None = None, chars: int | None = None) -> dict[str, Any]:
        left_out = len(lines) - count
        return {
            **section,
            "function_source": "\n".join(line[:chars] for line in lines[:count]),
            "source_left_out": f"the last {left_out} lines" if left_out > 0 else None,
            "extraction_suggestions": [_clipped(each, chars) for each in suggestions[:suggested]],
        }

    for count in _down_to(KEPT_SOURCE_LINES, len(lines)):
        yield Version(partial(version, count))
    for suggested in _SUGGESTIONS:
        yield Version(partial(version, KEPT_SOURCE_LINES, suggested), is_last_resort=True)
    yield Version(partial(version, KEPT_SOURCE_LINES, _SUGGESTIONS[-1], _LINE_CHARS), is_last_resort=True)


def _smaller_domain(section: Mapping[str, Any]) -> Iterator[Version]:
    for chars, items in _DOMAIN_LIMITS:
        yield Version(partial(_clipped, section, chars, items))
    chars, items = _DOMAIN_LIMITS[-1]
    first = dict(list(section.items())[:_DOMAIN_KEYS])
    yield Version(lambda: {key: value for key, value in _clipped(first, chars, items).items() if _is_scalar(value)})
    yield Version(dict, is_last_resort=True)


def _shorter_recent(section: Sequence[Mapping[str, Any]]) -> Iterator[Version]:
    for chars in _SUMMARY_CHARS:
        yield Version(partial(_clipped, section, chars), is_last_resort=True)
    yield Version(partial(_clipped, section[-1:], _SUMMARY_CHARS[-1]), is_last_resort=True)


def _shorter_actions(section: Mapping[str, Any]) -> Iterator[Version]:
    for chars in _WHEN_CHARS:
        yield Version(partial(_clipped, section, chars), is_last_resort=True)
    blocked = _clipped(dict(list(section["blocked"].items())[:_BLOCKED]), _WHEN_CHARS[-1])
    names = list(section["available"])
    yield Version(lambda: {**section, "available": names, "blocked": blocked}, is_last_resort=True)


def _down_to(least: int, count: int) -> Iterator[int]:
    """Yield ever smaller counts below `count`, in steps of a quarter, the last one `least`."""
    while count > least:
        count = max(least, min(count - 1, count * 3 // 4))
        yield count


def _clipped(value: Any, chars: int | None, items: int | None = None) -> Any:
    """Return a value with texts of at most so many characters, and collections of at most so many items."""
    if isinstance(value, str):
        return value if chars is None or len(value) <= chars else f"{value[: chars - 1]}…"
    if isinstance(value, Mapping):
        return {key: _clipped(item, chars, items) for key, item in list(value.items())[:items]}
    if isinstance(value, Sequence):
        return [_clipped(item, chars, items) for item in value[:items]]
    return value


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, Mapping | list)
