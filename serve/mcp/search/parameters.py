"""Defines the arguments of the search tools, described for the model that fills them in."""

from __future__ import annotations

from typing import Annotated

import msgspec

MAX_TEXT_CHARS = 10_000
MAX_PATTERNS = 8

Path = Annotated[str, msgspec.Meta(min_length=1, max_length=4_096)]
Line = Annotated[int, msgspec.Meta(ge=1, le=10_000_000)]
_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TEXT_CHARS)]
_Tokens = Annotated[
    int,
    msgspec.Meta(ge=500, le=50_000, description="Of the answer."),
]
_Scope = Annotated[Path, msgspec.Meta(description="Only in this folder or file.")]
_File = Annotated[Path, msgspec.Meta(description="A file.")]
_Symbol = Annotated[_Text, msgspec.Meta(description="`Class.method` and `module.name` work too.")]


def _count(most: int) -> msgspec.Meta:
    return msgspec.Meta(ge=1, le=most, description="Rows per list.")


class _Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    max_tokens: _Tokens = 4_000


class Locate(_Parameters, frozen=True):
    query: Annotated[_Text, msgspec.Meta(description="A name, or plain words.")]
    scope: _Scope | None = None
    max_results: Annotated[int, _count(50)] = 10
    thorough: Annotated[bool, msgspec.Meta(description="Order as ask does: twice as slow.")] = False


class SearchText(_Parameters, frozen=True):
    patterns: Annotated[
        list[Annotated[str, msgspec.Meta(min_length=1, max_length=2_000)]],
        msgspec.Meta(min_length=1, max_length=MAX_PATTERNS, description="Each is searched by itself."),
    ]
    regex: Annotated[bool, msgspec.Meta(description="As regular expressions.")] = False
    scope: _Scope | None = None
    max_results: Annotated[int, _count(50)] = 20


class SearchFiles(_Parameters, frozen=True):
    pattern: Annotated[_Text, msgspec.Meta(description="`src/**/*_test.go`; names without a slash.")]
    max_results: Annotated[int, _count(500)] = 100


class FindDefinitions(_Parameters, frozen=True):
    name: _Symbol
    max_results: Annotated[int, _count(100)] = 20


class ExploreSymbolUsage(_Parameters, frozen=True):
    symbol: _Symbol
    max_results: Annotated[int, _count(500)] = 20
    include_unproven: Annotated[bool, msgspec.Meta(description="All.")] = False


class GetSymbols(_Parameters, frozen=True):
    path: _File


class MapModule(_Parameters, frozen=True):
    path: Annotated[Path, msgspec.Meta(description="A folder or file.")] = "."
    max_depth: Annotated[int, msgspec.Meta(ge=1, le=15, description="Levels of folders.")] = 3
    symbol: Annotated[_Text, msgspec.Meta(description="Only this type.")] | None = None


class TraceEntryPoint(_Parameters, frozen=True):
    entry: Annotated[_Text, msgspec.Meta(description="A function or file.")] | None = None
    max_depth: Annotated[int, msgspec.Meta(ge=1, le=10, description="Calls deep.")] = 3


class FindRelated(_Parameters, frozen=True):
    path: _File | None = None
    symbol: _Symbol | None = None
    max_results: Annotated[int, _count(50)] = 10


class ExplainCodeHistory(_Parameters, frozen=True):
    path: _File | None = None
    symbol: _Symbol | None = None
    start_line: Line | None = None
    end_line: Line | None = None
    max_commits: Annotated[int, msgspec.Meta(ge=1, le=100, description="At most.")] = 10
    origin: Annotated[bool, msgspec.Meta(description="Also the commit that introduced the name.")] = False


class ReadCode(_Parameters, frozen=True):
    path: _File | None = None
    symbol: _Symbol | None = None
    start_line: Annotated[Line, msgspec.Meta(description="First line.")] | None = None
    end_line: Annotated[Line, msgspec.Meta(description="Last line, included.")] | None = None
    max_lines: Annotated[int, msgspec.Meta(ge=1, le=2_000, description="At most.")] = 200


class GitStatus(_Parameters, frozen=True):
    pass


class Ask(_Parameters, frozen=True):
    question: Annotated[_Text, msgspec.Meta(description="In English.")]
    session: (
        Annotated[
            str,
            msgspec.Meta(
                pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
                description="Any id; its questions may refer back.",
            ),
        ]
        | None
    ) = None
