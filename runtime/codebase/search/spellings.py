"""Lists the other spellings of a word: British and American ones, and common abbreviations."""

from __future__ import annotations

from runtime.codebase.files.words import stem
from runtime.codebase.search.query_expansion import other_words

# British and American parts of words, each for the other.
_VARIANTS = (("is", "iz"), ("ys", "yz"), ("our", "or"), ("tre", "ter"), ("ogue", "og"), ("ence", "ense"), ("ll", "l"))

_SHORT = """
    kubernetes k8s; internationalization i18n; localization l10n; accessibility a11y; authentication authn auth;
    authorization authz auth; javascript js; typescript ts; database db; postgresql postgres pg psql;
    configuration config conf cfg; websocket ws; markdown md; yaml yml; jpeg jpg; certificate cert; administrator admin;
    repository repo; documentation docs; asynchronous async; synchronous sync; environment env;
    kilobyte kb kib; megabyte mb mib; gigabyte gb gib; millisecond ms msec; elasticsearch elastic; opentelemetry otel;
    protobuf proto; prometheus prom; webassembly wasm; mongodb mongo; internet inet; certificate crt; library lib"""


def _table() -> dict[str, frozenset[str]]:
    """Build a map from a stem to the stems of the other words of its groups."""
    found: dict[str, frozenset[str]] = {}
    for group in _SHORT.split(";"):
        stems = {stem(word) for word in group.split()}
        for one in stems:
            found[one] = found.get(one, frozenset()) | (stems - {one})
    return found


_ABBREVIATIONS = _table()


def spellings(word: str) -> set[str]:
    """Return the stems of a lower-case word in British and in American spelling, its own among them."""
    american, british = word, word
    variants = {word}
    for one, other in _VARIANTS:
        american, british = american.replace(one, other), british.replace(other, one)
        variants |= {word.replace(one, other), word.replace(other, one)}
    return {stem(variant) for variant in (*variants, american, british)}


def abbreviations(word: str) -> set[str]:
    """Return the stems of words that programmers use for a lower-case word, or that it is short for."""
    own = stem(word)
    return set(_ABBREVIATIONS.get(own, ())) | other_words(own).keys()
