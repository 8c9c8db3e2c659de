"""Classifies files by path: source, or a kind that most questions do not mean, such as tests or docs.

The first row of the table that matches wins; `source` is the remainder. A row includes the patterns of that kind from
the language records. Ranking demotes the other kinds unless the question asks for them.
"""

from __future__ import annotations

import functools
import re

from runtime.codebase.language_parts.language import PathKind
from runtime.codebase.language_registry import all_words, language_at, languages

# As many as a repository has unless settings say otherwise: lists are ordered by the kinds of all its files.
MAX_KEPT_PATHS = 200_000

# Prefix of a pattern that must not match code: `history.py` is not a list of changes.
_NOT_CODE = r"^(?!.*\.({code})$)"

# Searched in the path behind a slash, which a search for a folder finds faster than the begin or a slash.
_TABLE: tuple[tuple[PathKind, str], ...] = (
    (
        "vendored",
        r"/(vendor|vendored|_vendor|third_?party|thirdparty_files|extern|externals?|node_modules|bundled"
        r"|site-packages)/",
    ),
    (
        "generated",
        r"(\.min\.css|\.map|\.lock|-lock\.json|-lock\.yaml|/go\.sum|\.generated\.\w+|\.snap)$"
        r"|/(generated|__generated__|__snapshots__)/",
    ),
    (
        "changelog",
        _NOT_CODE + r".*(/(change(s|log)?|history|news|release[-_ ]?notes?|whats_?new)([-_.][^/]*)?$"
        r"|/(changelogs?)/)",
    ),
    (
        "test",
        r"/(tests?|t|__tests__|__mocks__|mocks|e2e|specs?|testdata|test_data|fixtures|unittests?|integrationtest"
        r"|testing_data|regress(ion)?)/|/tests?\.[a-z]+$|\.feature$|/step_definitions/|^/features/(steps|support)/",
    ),
    ("benchmark", r"/(bench|benches|benchmarks?|perf|asv_bench|metrics-bench)/|/bench_[^/]*$|_bench\.\w+$"),
    ("example", r"/(examples?|samples?|demos?|tutorials?|playground|_examples|sandbox|templates/demo)/"),
    ("translation", r"/locales?/|\.(po|pot)$|" + _NOT_CODE + r".*/(i18n|l10n|translations?|lang)/"),
    (
        "docs",
        r"/(docs?|documentation|doc-site|website|_docs|wiki|man|manuals?)/|\.[1-9](\.in)?$|"
        + _NOT_CODE
        + r".*/(readme|license|licence|authors|contributors|copying|notice|contributing|security|pkg-info)"
        r"([-_.][^/]*)?$",
    ),
    ("declaration", ""),
    (
        "data",
        r"\.(sublime-\w+|tm(language|theme)|plist|patch|diff|log)$|/\.(github|gitlab|circleci|vscode|idea)/"
        r"|/\.[^/.]+$|/[\w-]*complet\w*/([^/]*\.(fish|bash|zsh|ps1|elv|nu|sh)|_[^/.]*)(\.in)?$",
    ),
)
_LISTED_ONLY = re.compile(
    r"(\.min\.(js|css)|\.map|(^|/)(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|poetry\.lock"
    r"|uv\.lock|Pipfile\.lock|Cargo\.lock|go\.sum|composer\.lock|Gemfile\.lock))$"
)

_TEST_MODULES = frozenset({"test", "tests"})

_ASKED_FOR: dict[PathKind, str] = {
    "test": r"\b(tests?|tested|testing|unittests?|fixtures?|specs?|test case|regression|covered|coverage)\b",
    "docs": r"\b(docs?|documentation|documented|readme|guide|licen[sc]e|contributing|manual|documentation directory)\b",
    "example": r"\b(examples?|samples?|demos?|tutorials?)\b",
    "benchmark": r"\b(bench|benchmarks?|benchmarking)\b",
    "vendored": r"\b(vendored|vendor|third[- ]party|bundled)\b",
    "generated": r"\b(generated|lock ?file|snapshot|minified|protobuf)\b",
    "changelog": r"\b(changelog|release notes?|history|changes in version)\b",
    "translation": r"\b(translations?|locales?|i18n|internationali[sz]ation|languages?)\b",
    "declaration": r"\b(stubs?|typings?|type (hints?|declarations?|definitions?)|declaration files?)\b"
    r"|\.pyi\b|\.d\.ts\b",
    "data": r"\b(config(uration)?s?|settings?|json|ya?ml|toml|xml|html|css|stylesheets?|schema|dependenc(y|ies)|package"
    r"|workflows?|ci|pipeline|notebook|templates?)\b",
}
# A sentence of a longer text that ends with a question mark.
_ASKING = re.compile(r"(?:^|(?<=[.!?\n]))[^.!?\n]{1,400}\?(?=\s|$)", re.MULTILINE)
_ASKED_COMPILED = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in _ASKED_FOR.items()}


@functools.cache
def _compiled(ending: str) -> tuple[tuple[PathKind, re.Pattern[str]], ...]:
    """Compile the rows of the table for names with an ending, each with the patterns of languages that have it."""
    code = "|".join(sorted(map(re.escape, all_words("code_extensions"))))
    further: dict[PathKind, list[str]] = {}
    for record in languages().values():
        for kind, pattern in record.path_kinds if ending in record.extensions.split() else ():
            further.setdefault(kind, []).append(pattern)
    rows = []
    for kind, own in _TABLE:
        patterns = [own.replace("{code}", code), *further.get(kind, ())]
        pattern = "|".join(filter(None, patterns))
        if pattern:
            rows.append((kind, re.compile(pattern, re.IGNORECASE if kind != "test" else 0)))
    return tuple(rows)


@functools.cache
def _endings() -> frozenset[str]:
    return frozenset(ending for record in languages().values() for ending in record.extensions.split())


@functools.lru_cache(maxsize=MAX_KEPT_PATHS)
def kind_of_path(path: str) -> PathKind:
    """Return the first kind in the table whose pattern matches the path; `source` if none does."""
    ending = path.rpartition(".")[2].lower()
    rows = _compiled(ending if ending in _endings() else "")
    return next((kind for kind, pattern in rows if pattern.search(f"/{path}")), "source")


@functools.lru_cache(maxsize=16_384)
def kind_of_place(path: str, symbol: str | None) -> PathKind:
    """Return the kind of a file, or `test` for a test within a source file.

    That is a symbol in a test module (`tests.it_parses`), and in some languages a function that is called like a test.
    """
    *owners, name = (symbol or "").split(".")
    called = language_at(path).test_prefix
    is_test = not _TEST_MODULES.isdisjoint(owners) or bool(called and name.startswith(called))
    return "test" if is_test else kind_of_path(path)


def is_listed_only(path: str) -> bool:
    """Return True for lock files and minified code: they are listed and can be read, but not cut into chunks."""
    return _LISTED_ONLY.search(path) is not None


def kinds_asked_for(question: str) -> frozenset[PathKind]:
    """Return the kinds that a question mentions, so that they are not demoted for it.

    Of a longer text, such as a report or the description of a change, only the title and the questions count: that
    tests were added as well, or a template's `Documentation:`, is not what the text is about.
    """
    title, _, rest = question.strip().partition("\n")
    asked = title + "\n" + "\n".join(_ASKING.findall(rest))
    return frozenset(kind for kind, pattern in _ASKED_COMPILED.items() if pattern.search(asked))
