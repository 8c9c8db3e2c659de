"""Declares programming languages that are parsed by line patterns, since no grammar is installed."""

from __future__ import annotations

from runtime.codebase.language_parts import line_bodies
from runtime.codebase.language_parts.language import Language
from runtime.codebase.languages import java, javascript

_UNIT_TEST = r"(^|/)[^/]*(Tests?|TestCase|Spec)\."

LANGUAGES = (
    Language(
        name="swift",
        extensions="swift",
        path_kinds=(("test", _UNIT_TEST + r"swift$"),),
        code_extensions="swift",
        branch_words="guard switch case catch",
    ),
    Language(
        name="scala",
        extensions="scala sc",
        path_kinds=(("test", _UNIT_TEST + r"scala$"),),
        code_extensions="scala",
        family="jvm",
        builtin_methods=java.BUILTIN_METHODS,
    ),
    Language(
        name="groovy",
        extensions="groovy gradle",
        file_names="jenkinsfile",
        line_bodies=line_bodies.GROOVY,
        family="jvm",
        builtin_methods=java.BUILTIN_METHODS,
    ),
    Language(
        name="lua",
        extensions="lua",
        interpreters="lua",
        path_kinds=(("test", r"(^|/)test[_-][^/]*\.lua$"),),
        code_extensions="lua",
    ),
    Language(
        name="perl",
        extensions="pl pm",
        interpreters="perl",
        code_extensions="pl pm",
        failures=(r"\bdie\b",),
        line_bodies=line_bodies.PERL,
    ),
    Language(
        name="elixir",
        extensions="ex exs",
        path_kinds=(("test", r"_tests?\.exs$"),),
        code_extensions="ex exs",
        line_bodies=line_bodies.ELIXIR,
    ),
    Language(name="erlang", extensions="erl hrl", line_bodies=line_bodies.ERLANG),
    Language(name="haskell", extensions="hs", line_bodies=line_bodies.HASKELL),
    Language(name="julia", extensions="jl", line_bodies=line_bodies.JULIA),
    Language(name="r", extensions="r", line_bodies=line_bodies.R),
    Language(
        name="dart",
        extensions="dart",
        path_kinds=(("test", r"_tests?\.dart$"),),
        code_extensions="dart",
        line_bodies=line_bodies.DART,
    ),
    Language(name="zig", extensions="zig", line_bodies=line_bodies.ZIG),
    Language(name="powershell", extensions="ps1 psm1", line_bodies=line_bodies.POWERSHELL),
    Language(name="proto", extensions="proto"),
    Language(name="graphql", extensions="graphql gql"),
    Language(name="terraform", extensions="tf hcl"),
    Language(
        name="vue",
        extensions="vue svelte",
        code_extensions="vue",
        family="ecmascript",
        builtin_methods=javascript.BUILTIN_METHODS,
    ),
)
