"""Proves that the subject of a question occurs nowhere, only aside, as in tests, or in documentation.

Only distinctive words decide: names of products and protocols, and nouns that are ordinary neither in English nor in
software (`lexicon`). A word occurs if any form or spelling of it is in a name, text or path that the index holds, as a
word, as the beginning or a part of one, or in two words. In doubt it counts as occurring.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence

import msgspec

from runtime.codebase.files.path_kinds import is_listed_only, kind_of_path, kinds_asked_for
from runtime.codebase.files.words import (
    CODE_NOISE,
    STOP_WORDS,
    index_terms,
    query_terms,
    split_identifier,
    stem,
    versioned_words,
)
from runtime.codebase.index.file_rows import MAX_CHUNK_CHARS
from runtime.codebase.index.reader import IndexReader
from runtime.codebase.language_parts.language import PathKind
from runtime.codebase.language_registry import language_named
from runtime.codebase.parsing.chunks import MAX_CHUNK_LINES, MAX_DATA_LINES
from runtime.codebase.search.presence.familiarity import AS_USUAL, familiarity
from runtime.codebase.search.presence.lexicon import is_ordinary
from runtime.codebase.search.presence.spoken_of import spoken_of
from runtime.codebase.search.spellings import abbreviations, spellings

# A longer text is a report: names in its logs are not what it is about.
MAX_QUESTION_CHARS = 2_000
MAX_SUBJECTS = 8
LEAST_CHARS = 3
# «S3», «H2»: a capital and a digit are a name all the same.
_SHORT_NAME = re.compile(r"[A-Z]\d")
# «TLS 1.3», of which `TLSv1_3` and `TLS1_3` are other spellings; «Step 2» is no name.
_VERSIONED_NAME = re.compile(r"[A-Z]{2}")
FEW_WORDS = 3
LEAST_REST_CHARS = 3
# A form as long as this is no mere beginning of another word; what short forms of a word have of it.
LEAST_LONG_CHARS = 6
LEAST_BEGINNING = 0.6
MAX_CONTINUED = 40
# A shorter abbreviation may be anything.
LEAST_SURE_CHARS = 4
MAX_PAIRS = 16
MOST_APART = 3
# A word in more places than these is spoken of, wherever they are.
MAX_ASIDE = 12
# So many informative words in one passage are no chance: of 488 statements of documents none has its words in a passage
# of another repository.
LEAST_DOCUMENTED = 4
MAX_DOCUMENTED = 40
_DOCUMENTS = ("document", "help", "docstring")
# Fewer words that every English text has, and a text is in another language.
LEAST_ENGLISH = 0.2
MOST_CAPITALISED = 0.5

_WORD = re.compile(r"\w+(?:['’](?:t|s|re|ve|ll|d|m)\b)?")
_SENTENCE = re.compile(r"(?:[^.?!\n]|[.?!](?!\s|$))++[.?!\n]*+")
_SHORTENED = re.compile(r"['’]\w+$")
_STARTS_SENTENCE = re.compile(r"(?:^|[.!?:;\n]\s*)[\s\"'`*(\[-]*$")
# «How would I add another agent, say Gemini?»: what is to be added need not be there.
_TO_ADD = re.compile(r"\b(?:add|adding|another|new|extra|introduce|plug in)\b", re.IGNORECASE)
_EXAMPLE = re.compile(
    r"(?:[,(\u2013\u2014-] ?say|\b(?:e\.g\.?|for example|for instance|such as|something like))(?!\w)[,:]?"
    r"\s[^,.;?!()\n]{1,60}",
    re.IGNORECASE,
)
# «… that heeds the switch»: a word with an object is a verb.
_TAKES_OBJECT = re.compile(r"\s+(?:an?|the|its?|their|them|my|our|your|this|that|these|those|each|every|all|any|no)\b")
_ASIDE: frozenset[PathKind] = frozenset({"changelog", "test", "vendored", "generated", "translation"})


class Mention(msgspec.Struct, frozen=True):
    """Locates the first piece of a file with a word that occurs only aside; lines are inclusive."""

    word: str
    file: str
    start_line: int
    end_line: int


class Absence(msgspec.Struct, frozen=True):
    """Holds the distinctive words of a question that occur nowhere, and those that occur only aside.

    Words are as written. `unknown`: of the question's informative words the share that occurs nowhere, distinctive or
    not; `together`: of those that stand together in it the share that stand near each other in some piece; both 0 to 1.
    `familiar`: how often the repository has its words, against other software (`familiarity`); `spoken_of`: how much of
    it the code speaks of, in its words or in words of like meaning (`spoken_of`), 0 to 1; `near`: the mean of the
    greatest cosines of its pieces and the question, None where they cannot be compared by meaning. `documented`: a
    passage of documentation has all of its informative words, four at least.
    `files`: how many were searched whole; `in_part`: how many others that can be read were not; `pieces`: how many
    pieces the index has.
    """

    nowhere: tuple[str, ...] = ()
    aside: tuple[Mention, ...] = ()
    unknown: float = 0.0
    together: float = 1.0
    familiar: float = AS_USUAL
    spoken_of: float = 1.0
    near: float | None = None
    files: int = 0
    in_part: int = 0
    pieces: int = 0
    documented: bool = False


def absence_of(index: IndexReader, question: str, own_name: str = "") -> Absence:
    """Return which distinctive words of a question occur nowhere or aside; empty for a report or another language.

    `own_name`: that of the repository, which decides nothing, nor does an example of what is to be added.
    """
    if _TO_ADD.search(question):
        question = _EXAMPLE.sub(" ", question)
    nowhere: list[str] = []
    aside: list[Mention] = []
    asked_for = kinds_asked_for(question)
    own = set(split_identifier(own_name)) | {own_name.lower()}
    for word in subjects(question)[:MAX_SUBJECTS]:
        if word.lower() in own:
            continue
        if not _occurs(index, word):
            nowhere.append(word)
        elif (mention := _only_aside(index, word, asked_for)) is not None:
            aside.append(mention)
    files, in_part = _searched(index) if nowhere else (0, 0)
    return Absence(
        nowhere=tuple(nowhere),
        aside=tuple(aside),
        unknown=unknown_share(index, question),
        together=together_share(index, question),
        familiar=familiarity(index, question[:MAX_QUESTION_CHARS]),
        spoken_of=spoken_of(index, question[:MAX_QUESTION_CHARS]),
        files=files,
        in_part=in_part,
        pieces=index.chunk_count(),
        documented=is_documented(index, question),
    )


def unknown_share(index: IndexReader, question: str) -> float:
    """Return the share of a question's informative words, 0 to 1, that no piece of the repository has.

    An abbreviation or a common synonym of a word stands for it.
    """
    terms = list(query_terms(question[:MAX_QUESTION_CHARS]).counts)
    known = index.document_counts(terms)
    known_otherwise = sum(index.has_term(sorted(abbreviations(term))) for term in terms if term not in known)
    return round(1 - (len(known) + known_otherwise) / len(terms), 4) if terms else 0.0


def is_documented(index: IndexReader, question: str) -> bool:
    """Return whether a passage of documentation has all informative words of a question, four at least.

    Documents, help texts and documentation strings count; those of tests, changelogs and others' code do not.
    """
    terms = list(query_terms(question).counts) if len(question) <= MAX_QUESTION_CHARS else []
    if len(terms) < LEAST_DOCUMENTED:
        return False
    paths = index.paths_of_passages(terms, _DOCUMENTS, MAX_DOCUMENTED)
    return any(kind_of_path(path) not in _ASIDE for path in paths)


def together_share(index: IndexReader, question: str) -> float:
    """Return the share of a question's neighbouring words, 0 to 1, that are near each other in a piece; 1 if none."""
    pairs = _neighbours(question)[:MAX_PAIRS]
    return round(sum(map(index.has_pair, pairs)) / len(pairs), 4) if pairs else 1.0


def _neighbours(question: str) -> list[tuple[str, str]]:
    """Return the pairs of informative words, as terms, with at most two others between them, each once, in order."""
    pairs: dict[tuple[str, str], None] = {}
    last: tuple[int, str] | None = None
    for at, match in enumerate(_WORD.finditer(question[:MAX_QUESTION_CHARS])):
        term = next(iter(query_terms(_SHORTENED.sub("", match.group())).counts), "")
        if not term:
            continue
        if last is not None and at - last[0] <= MOST_APART and last[1] != term:
            pairs[last[1], term] = None
        last = (at, term)
    return list(pairs)


def subjects(question: str) -> list[str]:
    """Return the distinctive words of a question as written, each once, in order.

    In another language than English, in a title with capitals throughout, and in a sentence that only tells something
    beside one that asks, only spelling makes a name: «It looks like a leftover. Does anything read it?»
    """
    if len(question) > MAX_QUESTION_CHARS:
        return []
    found = [(_SHORTENED.sub("", match.group()), match) for match in _WORD.finditer(question)]
    words = [word for word, _ in found if word.isascii() and word[0].isalpha()]
    is_english = _is_english(words)
    is_title = sum(word[0].isupper() for word in words) > max(1, MOST_CAPITALISED * len(words))
    told = _told(question)
    kept: dict[str, str] = {}
    for word, match in found:
        is_short = len(word) < LEAST_CHARS and _SHORT_NAME.fullmatch(word) is None
        if is_short or word not in words or word.lower() in STOP_WORDS:
            continue
        if match.group().endswith(("'t", "’t")):
            continue
        is_name = _is_spelt_as_name(word) and not (is_title and word.isupper())
        if is_english and not is_title and word[0].isupper():
            is_name = is_name or _STARTS_SENTENCE.search(question[: match.start()]) is None
        is_told = any(start <= match.start() < end for start, end in told)
        is_noun = is_english and word.isalpha() and _TAKES_OBJECT.match(question, match.end()) is None
        if is_name or (is_noun and not is_told and not is_ordinary(word)):
            kept.setdefault(word.lower(), word)
    for written, term in versioned_words(question):
        if _VERSIONED_NAME.match(written):
            kept.setdefault(term, written)
    return list(kept.values())


def _told(question: str) -> list[tuple[int, int]]:
    """Return where the sentences of a question begin and end that do not ask; none if no sentence asks."""
    sentences = [(found.start(), found.end(), found.group()) for found in _SENTENCE.finditer(question)]
    asks = any(text.rstrip().endswith("?") and len(text.split()) >= FEW_WORDS for _, _, text in sentences)
    return [(start, end) for start, end, text in sentences if asks and not text.rstrip().endswith("?")]


def _is_english(words: Sequence[str]) -> bool:
    """Return whether enough words are those that English texts have; a few words alone are taken for it."""
    common = sum(word.lower() in STOP_WORDS for word in words)
    return bool(words) and (len(words) <= FEW_WORDS or common >= LEAST_ENGLISH * len(words))


def _is_spelt_as_name(word: str) -> bool:
    """Return whether a word has capitals or digits within, or underscores."""
    return any(mark.isupper() or mark.isdigit() or mark == "_" for mark in word[1:])


def _occurs(index: IndexReader, word: str) -> bool:
    """Return whether any form or spelling of a word is in a name, text or path of the index."""
    for _, term in versioned_words(word):
        forms = [term, _with_v(term)]
        # HTTP/3.3, which the index holds as `http33`, is no HTTP/3.
        continued = any(_is_continued(index, form, by_digits=False) or index.has_name_with(form) for form in forms)
        return index.has_term(forms) or continued or index.has_phrase(_in_words(word))
    lowered = word.lower()
    whole = index_terms(word).partition(" ")[0]
    plain = lowered.rstrip("0123456789")
    # IPv4 is no IPv6.
    is_version = len(plain) < LEAST_CHARS or (plain != lowered and plain.endswith("v"))
    forms = sorted(spellings(lowered) | {whole} | (set() if is_version else {stem(plain)}))
    shorter = [form for form in sorted(abbreviations(lowered)) if _is_in_use(index, form)]
    if not whole or index.has_term([*forms, *shorter, *_beginnings(lowered)]):
        return True
    if any(_is_continued(index, form) for form in forms) or index.has_phrase(_in_words(word)):
        return True
    return index.has_name_with(lowered)


def _is_in_use(index: IndexReader, abbreviation: str) -> bool:
    """Return whether an abbreviation may stand for the word: a few letters do, such as `pg`, where two files have them.

    One file may have them in a pattern or as a name of something else.
    """
    if len(abbreviation) >= LEAST_SURE_CHARS or not abbreviation.isalpha():
        return True
    return len({path for path, _, _ in index.pieces_with_term(abbreviation, MAX_CONTINUED)}) > 1


def _with_v(term: str) -> str:
    """Return how names have a word with its version: `tlsv13`."""
    return re.sub(r"(?<=[a-z])(?=\d)", "v", term, count=1)


def _beginnings(word: str) -> list[str]:
    """Return what a long word may be called for short: `postgres` of `postgresql`."""
    least = max(LEAST_LONG_CHARS, math.ceil(LEAST_BEGINNING * len(word)))
    return [word[:end] for end in range(least, len(word))] if word.isalpha() else []


def _is_continued(index: IndexReader, form: str, *, by_digits: bool = True) -> bool:
    """Return whether a term goes on behind the form with another word: `zshcompletion`, and not `quick` for `quic`.

    Whatever stands behind a long form, the word is there; `by_digits`: also if digits stand behind a short one.
    """
    for term in index.terms_from(form, MAX_CONTINUED):
        rest = term.removeprefix(form)
        if rest[:1].isdigit() and not by_digits:
            continue
        if len(form) >= LEAST_LONG_CHARS or rest.isdigit():
            return True
        if len(rest) >= LEAST_REST_CHARS and (is_ordinary(rest) or index.has_term([rest])):
            return True
    return False


def _in_words(word: str) -> list[tuple[str, ...]]:
    """Return the ways to write a word in two, or a name in its parts, as terms of the index."""
    parts = tuple(stem(part) for part in split_identifier(word) if len(part) > 1 and part not in CODE_NOISE)
    ways = [parts] if len(parts) > 1 else []
    lowered = word.lower()
    if lowered.isalpha():
        cuts = range(LEAST_REST_CHARS, len(lowered) - LEAST_REST_CHARS + 1)
        ways += [(stem(lowered[:at]), stem(lowered[at:])) for at in cuts]
    return ways


def _only_aside(index: IndexReader, word: str, asked_for: Collection[PathKind]) -> Mention | None:
    """Return the first line with a word that only asides have: tests, changelogs, others' code, or a denial."""
    term = next((term for _, term in versioned_words(word)), "") or index_terms(word).partition(" ")[0]
    places = index.pieces_with_term(term, MAX_ASIDE + 1)
    if not places or len(places) > MAX_ASIDE:
        return None
    kinds = {kind_of_path(path) for path, _, _ in places}
    if kinds <= _ASIDE and kinds.isdisjoint(asked_for):
        return Mention(word, *places[0])
    return None


def _searched(index: IndexReader) -> tuple[int, int]:
    """Return how many files the index holds whole, and how many of those that can be read it holds in part."""
    files = index.sizes_of_readable()
    in_part = sum(_is_in_part(*file) for file in files)
    return len(files) - in_part, in_part


def _is_in_part(path: str, size: int, lines: int, language: str | None) -> bool:
    """Return True for lock files, minified code, and long data: the index leaves out text of them."""
    if lines > MAX_DATA_LINES and language_named(language).role == "data":
        return True
    has_long_lines = size > MAX_CHUNK_CHARS and size > lines * MAX_CHUNK_CHARS // MAX_CHUNK_LINES
    return has_long_lines or is_listed_only(path)
