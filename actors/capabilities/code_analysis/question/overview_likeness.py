"""Recognises questions about a repository as a whole by how much their words are like those of such questions.

People ask what a project is in more ways than expressions can list. `overview_weights.json` has a weight for each word,
and for each two words in a row, that such questions have oftener, or more seldom, than questions about one thing in the
same words; words that questions about wholes do not have are all one. The sum decides. Words of a sentence that only
tells a situation («I inherited this from a colleague.») count by weights of their own. tests/ranking/overviews.py fits
them, and docs/answer-quality.md says how well.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Collection, Mapping
from itertools import pairwise
from pathlib import Path

# A longer text is a report.
MAX_CHARS = 600
# From this sum on a question is about the whole.
ENOUGH = 0.0
FILE = Path(__file__).parent / "overview_weights.json"
# The feature that all questions have, which also stands for their beginning, and those of words that are not known,
# where it asks and where it tells: the root of how many there are.
ALWAYS, UNKNOWN, UNKNOWN_TOLD = "^", "?", "t:?"
_PATH = re.compile(r"`?(?:[\w.@-]++/)++[\w@-]*+`?(?![\w.]*\w)")
_CODE = re.compile(
    r"`[^`]*+`|\b\w++\(\)|\b[a-z]++[A-Z]\w*+|\b[A-Za-z]++_\w++|\b[\w-]++\.(?:py|go|rs|jsx?|tsx?|[ch]|cpp|cs|java|rb|php"
    r"|json|ya?ml|toml|md|txt)\b"
)
_SENTENCE = re.compile(r"(?<=[.?!;])\s++|\n++")
_ASKS = re.compile(
    r"\W*(?:(?:please|kindly|so|and|but|ok|okay|well|now|just|hi|hello|hey|then)\W++)*(?:what|whats|which|where|how|who"
    r"|why|explain|describe|give|show|tell|draw|make|help|walk|outline|summari[sz]e|introduce|can|could|would|do|does|is"
    r"|are|take|provide|list|write|sketch)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z]++(?:'[a-z]++)?|\d++")
_FOLDER = " thisfolder "
# «What is this?»: what it points at may have been named before, and is any piece of code.
_POINTS = re.compile(
    r"\W*(?:(?:and|but|so|can you|please) )*(?:what|how|why|explain|describe)?(?:'s|s| is| are| was| does| do)?"
    r" (?:it|this|that|they|these)(?: (?:do|done|works?|for|built|made|used(?: for)?|mean|(?:all )?about|like this"
    r"|here))?\W*",
    re.IGNORECASE,
)


def speaks_of_whole(text: str) -> bool:
    """Return whether the words of a question are more like those of one about the whole than about one thing."""
    if len(text) > MAX_CHARS or _CODE.search(_PATH.sub(_FOLDER, text)) is not None:
        return False
    return _POINTS.fullmatch(text) is None and likeness(text) >= ENOUGH


def likeness(text: str, weights: Mapping[str, float] | None = None) -> float:
    """Return the sum of the weights of a question's features; above 0 for what is more like one about the whole.

    `weights`: by default those of the file.
    """
    known = weights_of_words() if weights is None else weights
    return sum(known.get(name, 0.0) * value for name, value in features_of(text, known).items())


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
    asked, told = _asked_and_told(_PATH.sub(_FOLDER, text.replace("’", "'")))
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


@functools.cache
def weights_of_words() -> Mapping[str, float]:
    """Return the weight of each word, each two words in a row, and the features that have no words."""
    found: dict[str, float] = json.loads(FILE.read_text(encoding="utf-8"))
    return found
