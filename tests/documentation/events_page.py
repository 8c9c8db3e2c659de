"""Generates the page of events, with the fields of each, from the classes that define them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from typing import Any, get_args

import msgspec

from runtime.supervision.client_data import CLIENT_DATA
from runtime.supervision.commands import TEXT_EVENTS, ClientEvent, ClientEventType
from runtime.supervision.events import Payload
from tests.documentation.markdown import code, form, prose, table

_ALWAYS_WRITTEN = "schema_version"

_INTRODUCTION = """\
# Events

Generated from the definitions. There are two kinds:

- [What callers see](#what-callers-see): over HTTP ([Follow a run](../guides/follow-a-run.md)), over gRPC, in the
  library, and from `jeeves runs watch --json`.
- [What the run log stores](#what-the-run-log-stores), each before it takes effect; `jeeves runs log` prints them.

## What callers see

Every event has these members. A client should skip types and fields that it does not know: later versions may add some.
"""
_STREAMS = """\
### In event streams over HTTP

Each event is the `data` of a server-sent event whose name is its `type` and whose id is its `seq`. Two more can end a
stream: `answer`, with the [answer document](../answers.md), and `error`, with the members of a
[problem document](../http.md#errors).

## What the run log stores

Each entry has the run's id, its number (`seq`, from 1 without gaps), the time (`at_ms`), and one of these:
"""


def events_page() -> str:
    """Return the page of events: those that callers see, and those that the run log stores."""
    lines = [_INTRODUCTION, *_rows_of_callers(ClientEvent, "member")]
    for name in get_args(ClientEventType):
        lines += [f"### `{name}`", "", prose(inspect.getdoc(CLIENT_DATA[name]) or ""), ""]
        if name in TEXT_EVENTS:
            lines += ["Not numbered (`seq` is 0) and not recorded.", ""]
        lines += _rows_of_callers(CLIENT_DATA[name], "field of `data`")
    own = "An event that a hook of a capability makes: `data` has what the hook puts there."
    lines += ["### `CAPABILITY.NAME`", "", own, "", _STREAMS]
    stored = get_args(Payload)
    forms = _schemas(*stored)
    for kind in stored:
        lines += _stored(str(kind.__struct_config__.tag), forms.pop(kind.__name__))
    lines += ["## Forms", "", "What fields of the entries above consist of.", ""]
    for name, schema in forms.items():
        lines += _stored(name, schema)
    return "\n".join(lines) + "\n"


def _schemas(*kinds: type) -> dict[str, dict[str, Any]]:
    """Return name → JSON schema of these classes and of those that their fields consist of."""
    found = msgspec.json.schema_components(
        kinds, ref_template="#/$defs/{name}", schema_hook=lambda kind: {"title": kind.__name__}
    )
    return found[1]


def _rows_of_callers(kind: type, title: str) -> Iterator[str]:
    """Yield a table of what callers receive, in the order of its declaration, and one of each form within it."""
    schemas = _schemas(kind)
    schema = schemas.pop(kind.__name__)
    rows = []
    for name in kind.__annotations__:
        each = schema["properties"][name]
        is_always = name in schema["required"] or name == _ALWAYS_WRITTEN
        can_be_null = is_always and {"type": "null"} in each.get("anyOf", ())
        told = f"{form(each)} or null" if can_be_null else form(each)
        rows.append((code(name), told, "always" if is_always else "if there is one", prose(each["description"])))
    yield from table((title, "form", "present", "meaning"), rows)
    for below in schemas:
        within = getattr(inspect.getmodule(kind), below)
        yield from (f"Each {code(below)}:", "", *_rows_of_callers(within, "field"))


def _stored(name: str, schema: dict[str, Any]) -> Iterator[str]:
    """Yield the section of an entry, or of what one consists of."""
    yield from (f"### `{name}`", "")
    for paragraph in inspect.cleandoc(schema.get("description", "")).split("\n\n"):
        yield from (prose(paragraph), "")
    rows = [
        (code(field), form(each), code(json.dumps(each["default"])) if "default" in each else "")
        for field, each in schema["properties"].items()
        if field != "type"
    ]
    yield from table(("field", "form", "default"), rows) if rows else ()
