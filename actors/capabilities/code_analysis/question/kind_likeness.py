"""Tells the kind of a question by how much its words are like those of questions of each kind.

People ask for callers, defaults or the whole project in more ways than expressions can list. `kind_weights.txt` has
for each kind the weight of each word, and of each two words in a row, that its questions have oftener, or more seldom,
than those of other kinds; words that no kind's questions have are all one, and so are names of code. The sums decide,
against 0 for a question about one thing, such as how it works. Words of a sentence that only tells a situation («I
inherited this from a colleague.») count by weights of their own. tests/ranking/question_wordings.py fits them, and
docs/answer-quality.md says how well.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Collection, Mapping
from itertools import pairwise
from pathlib import Path

# A longer text is a report.
MAX_CHARS = 600
# A kind is taken from this share of all probabilities on: questions of no kind of its own are the most frequent ones.
ENOUGH = 0.5
# And one that needs no subject from this: who asks about one thing learns nothing from an overview of all.
ENOUGH_OF_WHOLE = 0.7
FILE = Path(__file__).parent / "kind_weights.txt"
# The feature that all questions have, which also stands for their beginning, and those of words that are not known,
# where it asks and where it tells: the root of how many there are.
ALWAYS, UNKNOWN, UNKNOWN_TOLD = "^", "?", "t:?"
_PATH = re.compile(r"`?(?:[\w.@-]++/)++[\w@-]*+`?(?![\w.]*\w)")
_FILE = re.compile(
    r"`?(?:[\w.@-]++/)*+[\w-]++\.(?:py|go|rs|jsx?|tsx?|[ch]|cpp|cs|java|kt|rb|php|json|ya?ml|toml|md|txt|cfg|ini|sh)\b`?"
)
_NAME = re.compile(
    r"`[^`]*+`|\b\w++\(\)|\b[a-z]++[A-Z]\w*+(?:(?:\.|::|#)\w++)*+|\b(?:[A-Z][a-z0-9]++){2,}\w*+(?:(?:\.|::|#)\w++)*+"
    r"|\b\w++(?:(?:::|#|->)\w++)++|\b[A-Za-z]\w*+(?:\.[A-Za-z_]\w*+)++|\b[A-Za-z0-9]*+_\w++|--[\w-]++"
)
_SENTENCE = re.compile(r"(?<=[.?!;])\s++|\n++")
_ASKS = re.compile(
    r"\W*(?:(?:please|kindly|so|and|but|ok|okay|well|now|just|hi|hello|hey|then)\W++)*(?:what|whats|which|where|how|who"
    r"|why|when|explain|describe|give|show|tell|draw|make|help|walk|outline|summari[sz]e|introduce|can|could|would|do|does"
    r"|is|are|take|provide|list|write|sketch|find)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z]++(?:'[a-z]++)?")
_MARKS = (
    (_FILE, " thisfile "),
    (_PATH, " thisfolder "),
    (_NAME, " thisname "),
    (re.compile(r"\b\d++\b"), " thisnumber "),
)
_STAND_INS = frozenset(mark.strip() for _, mark in _MARKS)
# «What is this?»: what it points at may have been named before, and is any piece of code.
_POINTS = re.compile(
    r"\W*(?:(?:and|but|so|can you|please) )*(?:what|how|why|explain|describe)?(?:'s|s| is| are| was| does| do)?"
    r" (?:it|this|that|they|these)(?: (?:do|done|works?|for|built|made|used(?: for)?|mean|(?:all )?about|like this"
    r"|here))?\W*",
    re.IGNORECASE,
)

Weights = Mapping[str, Mapping[str, float]]


@functools.lru_cache(maxsize=64)
def likely_kind(text: str) -> str | None:
    """Return the kind that a question is of by its words; None for one about one thing, or too long a text.

    A mere name asks for nothing, either.
    """
    if len(text) > MAX_CHARS or _POINTS.fullmatch(text) is not None or _is_mere_name(text):
        return None
    shares = shares_of_kinds(text)
    best = max(shares, key=lambda kind: shares[kind])
    return best if shares[best] >= ENOUGH else None


def _is_mere_name(text: str) -> bool:
    asked, told = words_of(text)
    return not told and all(word in _STAND_INS for sentence in asked for word in sentence)


def shares_of_kinds(text: str, weights: Weights | None = None, known: Collection[str] = ()) -> dict[str, float]:
    """Return the probability of each kind, 0 to 1; what is left of 1 is that of a question about one thing.

    `weights`, `known`: by default those of the file.
    """
    if weights is None:
        weights, known = weights_of_kinds(), known_words()
    features = features_of(text, known)
    sums = {kind: sum(own.get(name, 0.0) * value for name, value in features.items()) for kind, own in weights.items()}
    most = max(0.0, *sums.values())
    parts = {kind: math.exp(value - most) for kind, value in sums.items()}
    whole = sum(parts.values()) + math.exp(-most)
    return {kind: part / whole for kind, part in parts.items()}


def features_of(text: str, known: Collection[str]) -> dict[str, float]:
    """Return the features of a question: its known words, pairs of words, and how many of its words are not known."""
    asked, told = words_of(text)
    words = {word for sentence in asked for word in sentence}
    found: dict[str, float] = {ALWAYS: 1.0}
    for sentence in asked:
        ends = [ALWAYS, *(word if word in known else UNKNOWN for word in sentence), "$"]
        found |= dict.fromkeys(map(" ".join, pairwise(ends)), 1.0)
    found |= dict.fromkeys([word for word in (*words, *told) if word in known], 1.0)
    for name, each in ((UNKNOWN, words), (UNKNOWN_TOLD, told)):
        found[name] = sum(word not in known for word in each) ** 0.5
    return found


def words_of(text: str) -> tuple[list[list[str]], set[str]]:
    """Return the words of each sentence that asks, and those of the ones that only tell something, behind a mark."""
    text = text.replace("’", "'")
    for pattern, mark in _MARKS:
        text = pattern.sub(mark, text)
    asked, told = _asked_and_told(text)
    words = [_WORD.findall(sentence.lower()) for sentence in asked]
    return words, {f"t:{word}" for sentence in told for word in _WORD.findall(sentence.lower())}


def _asked_and_told(text: str) -> tuple[list[str], list[str]]:
    """Return the sentences that ask, or all of them if none does, and those that only tell something."""
    sentences = [one for one in _SENTENCE.split(text) if one.strip()]
    asks = [one.rstrip().endswith("?") or _ASKS.match(one) is not None for one in sentences]
    if not any(asks):
        return sentences, []
    asked = [one for one, is_asked in zip(sentences, asks, strict=True) if is_asked]
    return asked, [one for one, is_asked in zip(sentences, asks, strict=True) if not is_asked]


def weights_of_kinds() -> Weights:
    """Return the weight of each feature that counts for a kind, by kind."""
    return _shipped()[0]


def known_words() -> frozenset[str]:
    """Return the words that questions of the kinds have, those of sentences that only tell something behind a mark."""
    return _shipped()[1]


@functools.cache
def _shipped() -> tuple[Weights, frozenset[str]]:
    return read_weights(FILE)


def read_weights(path: Path) -> tuple[dict[str, dict[str, float]], frozenset[str]]:
    """Read the weights by kind, and the known words, which are the features of one word.

    The first line has the kinds; each other one a feature and, behind a tab, its weights in tenths, one for each kind,
    or nothing if none of them counts.
    """
    first, *lines = path.read_text(encoding="utf-8").splitlines()
    weights: dict[str, dict[str, float]] = {kind: {} for kind in first.split()}
    words: list[str] = []
    for line in lines:
        name, _, tenths = line.partition("\t")
        words += [] if " " in name else [name]
        for own, tenth in zip(weights.values(), tenths.split(), strict=bool(tenths)):
            if tenth != "0":
                own[name] = int(tenth) / 10
    return weights, frozenset(words)
