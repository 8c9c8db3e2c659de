"""Declares programming languages that are parsed by line patterns, since no grammar is installed."""

from __future__ import annotations

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
    Language(name="perl", extensions="pl pm", interpreters="perl", code_extensions="pl pm", failures=(r"\bdie\b",)),
    Language(name="elixir", extensions="ex exs", path_kinds=(("test", r"_tests?\.exs$"),), code_extensions="ex exs"),
    Language(name="erlang", extensions="erl hrl"),
    Language(name="haskell", extensions="hs"),
    Language(name="julia", extensions="jl"),
    Language(name="r", extensions="r"),
    Language(name="dart", extensions="dart", path_kinds=(("test", r"_tests?\.dart$"),), code_extensions="dart"),
    Language(name="zig", extensions="zig"),
    Language(name="powershell", extensions="ps1 psm1"),
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
