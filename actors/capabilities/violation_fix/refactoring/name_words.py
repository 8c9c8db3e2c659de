"""Splits identifiers and comments into words, and knows the verbs that functions are named by."""

from __future__ import annotations

import re


def words_in(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")

VERBS = words_in(
    """
    accept access acquire activate adapt add adjust advance aggregate align allocate analyze annotate append apply
    arrange assemble assert assign attach authenticate authorize await balance begin bind break bring broadcast build
    bump cache calculate call cancel cast center change check choose chunk classify clean clear clip clone close
    coerce collapse collect combine compare compile compose compress compute concat concatenate configure confirm
    connect construct consume convert copy correct count cover crawl create crop cut deactivate debug decide declare
    decode decorate decrease decrypt deduplicate define delegate delete deliver deny describe deserialize detach detect
    determine diff disable discard disconnect discover dispatch display distribute divide download drain draw drop dump
    duplicate echo edit eliminate emit enable encode encrypt enforce ensure enter enumerate erase escape estimate
    evaluate evict examine exclude execute exit expand expect expire explain export expose extend extract fail feed
    fetch figure fill filter finalize find finish fit fix flag flatten flip flush fold follow forget format forward
    freeze gather generate get grab group grow guess handle hash hide highlight identify ignore import include
    increment indent index indicate infer inform inherit init initialize inject insert inspect install instantiate
    interpolate interpret invalidate invoke issue iterate join keep kill launch lex limit link list listen load locate
    lock log lookup lower make map mark mask match measure merge migrate mix modify mount move multiply mutate name
    negate normalize notify number observe obtain offset open optimize order output overwrite pack pad paint parse
    partition paste patch pause peek perform persist pick place plan play plot poll pop populate post prefix prepare
    prepend preserve print process produce promote prompt propagate protect provide prune publish pull purge push put
    query queue quote raise rank reach read rebuild receive recompute record recover redirect reduce refine refresh
    register reject release reload remove rename render reorder repair repeat replace replay reply report request
    require reset reshape resize resolve respond restart restore restrict resume retrieve retry return reuse reverse
    revert review revoke rewind rewrite rotate round route run sample sanitize save scale scan schedule scroll seal
    search seek select send separate serialize serve set setup shift show shrink shuffle shut sign simplify skip slice
    solve sort spawn specialize split squash stack start step stop store stream strip style submit substitute subtract
    suggest summarize suppress swap switch sync synchronize tag take terminate test tokenize toggle touch trace track
    train transform translate transmit traverse trigger trim truncate try tune turn unescape unify uninstall unlink
    unlock unpack unquote unregister unset unwrap unzip update upgrade upload use validate verify visit wait walk warn
    watch wrap write yield zip
    """
)

# Verbs that say nothing of what is done; a name built on them needs a better source.
VAGUE_VERBS = frozenset({"do", "process", "perform", "run", "main", "call", "execute", "try", "use", "make", "return"})

POOR_NOUNS = words_in(
    """
    a b c d e f g h i j k l m n o p q r s t u v w x y z aa bb cc xx yy tmp temp ret rv res val vals obj objs arg args
    kw kwargs kwds self cls it el elem foo bar baz idx ii jj kk ok out buf ptr num cnt cur prev nxt lst dct fn func cb
    dummy unused flag flags data stuff thing things
    """
)
MIDDLING_NOUNS = frozenset({"result", "results", "value", "values", "item", "items", "key", "keys", "other", "object"})

_ARTICLES = words_in("the a an any all our this these those its their each every some current given new")
_STOPS = words_in(
    """
    for of from with to in into if when and or that which by on as so because unless until while where since using via
    but not is are was were be been has have had it we you they i at per before after than then without between
    e.g i.e etc only now here there still also just yet already
    """
)
_NOISE = re.compile(
    r"^#+[:!]?\s*(TODO|FIXME|XXX|HACK|NOTE|type:|noqa|pragma|mypy|pylint|pyright|fmt|ruff|isort|nosec)", re.I
)


def words_of(identifier: str) -> list[str]:
    """Split an identifier of any style into lower-case words."""
    return [word.lower() for word in _WORD.findall(identifier)]


def verb_of(identifier: str) -> str | None:
    words = words_of(identifier)
    return words[0] if words and words[0] in VERBS else None


def base_form(word: str) -> str | None:
    """Return the verb that a word of prose is a form of."""
    if word in VERBS:
        return word
    candidates = []
    if word.endswith("ies"):
        candidates.append(word[:-3] + "y")
    if word.endswith("es"):
        candidates.append(word[:-2])
    if word.endswith("s"):
        candidates.append(word[:-1])
    if word.endswith("ing") and len(word) > 5:
        stem = word[:-3]
        candidates += [stem, stem + "e", stem[:-1] if stem[-1] == stem[-2] else stem]
    return next((candidate for candidate in candidates if candidate in VERBS), None)


def words_of_comment(comment: str) -> list[str]:
    """Return the verb and object that a comment opens with, or nothing where it opens otherwise."""
    if _NOISE.match(comment):
        return []
    prose = comment.lstrip("#:! ").strip()
    prose = re.split(r"[.:;,(\n]|--| - ", prose, maxsplit=1)[0]
    if not prose or any(character in prose for character in "=[]{}<>@\\"):
        return []
    words = [word.strip("`'\"*!?").lower() for word in prose.replace("/", " ").split()]
    words = [word for word in words if word]
    while words and words[0] in {
        "now",
        "then",
        "first",
        "next",
        "finally",
        "also",
        "let's",
        "we",
        "try",
        "to",
        "ok",
        "second",
    }:
        words = words[1:]
    verb = base_form(words[0]) if words else None
    if verb is None or verb in VAGUE_VERBS:
        return []
    rest = words[1:]
    if rest and rest[0] in {"if", "whether", "that", "for"}:
        rest = rest[1:]
    taken = _object_words(rest)
    return [verb, *taken] if taken and any(word not in POOR_NOUNS for word in taken) else []


def _object_words(words: list[str]) -> list[str]:
    taken: list[str] = []
    for word in words:
        if word in _ARTICLES and not taken:
            continue
        parts = words_of(word)
        if word in _STOPS or word in _ARTICLES or not parts or not word.replace("_", "").replace("-", "").isascii():
            break
        if not re.fullmatch(r"[a-z0-9_-]+", word) or word.isdigit():
            break
        taken += parts
        if len(taken) >= 3:
            break
    return taken[:3]


def is_good_noun(identifier: str) -> bool:
    words = words_of(identifier)
    return (
        bool(words) and any(len(word) > 2 and word not in POOR_NOUNS for word in words) and not identifier[-1].isdigit()
    )


def is_middling_noun(identifier: str) -> bool:
    return identifier.strip("_") in MIDDLING_NOUNS


def plural(noun: str) -> str:
    if noun.endswith("s"):
        return noun
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("x", "ch", "sh")) else "s")


def singular(noun: str) -> str:
    if noun.endswith("ies") and len(noun) > 4:
        return noun[:-3] + "y"
    if noun.endswith(("sses", "xes", "ches", "shes")):
        return noun[:-2]
    return noun[:-1] if noun.endswith("s") and not noun.endswith(("ss", "us", "is")) else noun
