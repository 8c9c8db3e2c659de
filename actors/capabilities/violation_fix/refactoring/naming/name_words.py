"""Splits identifiers and comments into words, and knows the verbs that functions are named by.

(Over 400 lines: a third of them are tables of words, beside what reads them.)
"""

from __future__ import annotations

import re
from collections.abc import Sequence


def words_in(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+\d*|[A-Z]+\d*|\d+")

VERBS = words_in(
    """
    accept access acquire activate adapt add adjust advance aggregate align allocate analyze annotate append apply
    arrange assemble ask assert assign attach authenticate authorize await balance begin bind break bring broadcast
    build bump cache calculate call cancel cast center change check choose chunk classify clean cleanup clear clip
    clone close coerce collapse collect combine compare compile compose compress compute concat concatenate
    configure confirm connect construct consume convert copy correct count cover crawl create crop cut deactivate
    debug decide declare decode decorate decrease decrypt dedupe deduplicate define delegate delete deliver deny
    describe deserialize detach detect determine diff disable discard disconnect discover dispatch display
    distribute divide download drain draw drop dump duplicate echo edit eliminate emit enable encode encrypt enforce
    ensure enter enumerate erase escape estimate evaluate evict examine exclude execute exit expand expect expire
    explain export expose extend extract fail feed fetch figure fill filter finalize find finish fit fix flag
    flatten flip flush fold follow forget format forward freeze gather generate get grab group grow guess handle
    hash hide highlight identify ignore import include increment indent index indicate infer inform inherit init
    initialize inject insert inspect install instantiate interpolate interpret invalidate invoke issue iterate join
    keep kill launch lex limit link list listen load locate lock log lookup lower make map mark mask match measure
    merge migrate mix modify mount move multiply mutate name negate normalize notify number observe obtain offset
    open optimize order output overwrite pack pad paint parse partition paste patch pause peek perform persist pick
    place plan play plot poll pop populate post prefix prepare prepend preserve print process produce promote prompt
    propagate protect provide prune publish pull purge push put query queue quote raise rank reach read rebuild
    receive recompute record recover redirect reduce refine refresh register reject release reload remove rename
    render reorder repair repeat replace replay reply report request require reset reshape resize resolve respond
    restart restore restrict resume retrieve retry return reuse reverse revert review revoke rewind rewrite rotate
    round route run sample sanitize save scale scan schedule scroll seal search seek select send separate serialize
    serve set setup shift show shrink shuffle shut sign simplify skip slice solve sort spawn specialize split squash
    stack start step stop store stream strip style submit substitute subtract suggest summarize suppress swap switch
    sync synchronize tag take terminate test tokenize toggle touch trace track train transform translate transmit
    traverse trigger trim truncate try tune turn unescape unify uninstall unlink unlock unpack unquote unregister
    unset unwrap unzip update upgrade upload use validate verify visit wait walk warn watch wrap write yield zip
    abort canonicalize decompress embed reassign rebalance rebase rebind recalculate reconcile reconnect reconstruct
    recreate redact reformat regenerate reindex remap reopen repack rescale resync retain shorten
    """
)

# Verbs that say nothing of what is done; a name built on them needs a better source.
VAGUE_VERBS = frozenset({"do", "process", "perform", "run", "main", "call", "execute", "try", "use", "make", "return"})

POOR_NOUNS = words_in(
    """
    a b c d e f g h i j k l m n o p q r s t u v w x y z aa bb cc xx yy tmp temp ret rv res val vals obj objs arg
    args kw kwargs kwds self cls it el ell elem elt foo bar baz idx ii jj kk ok out buf ptr num cnt cur prev nxt lst
    dct fn func cb dummy unused flag flags data stuff thing things ones
    """
)
# Nouns that nearly every function has: alone they tell nothing.
EMPTY_NOUNS = words_in(
    """
    result results value values item items other others object objects new old found done first last current previous
    next error changed success valid entry entries element elements it this that one two info output outputs
    long short big small full empty active public private local
    """
)
# Nouns that tell little.
MIDDLING_NOUNS = words_in(
    """
    line lines text string strings name names key keys path node nodes content contents message msg size length start
    end index pos position count number params parameters options list type types input inputs response request root
    body token tokens char match attr attrs attribute attributes state status context config group groups part parts
    parent child children left right total prefix suffix source target method func function
    """
)
# Verbs of functions that do to the whole what their parts do to its parts.
DISTRIBUTIVE_VERBS = words_in(
    """
    analyze append build check clean collect compile construct convert create decode delete describe deserialize
    display draw dump emit encode escape evaluate expand export fill filter format generate import index insert
    install list log map merge migrate normalize paint parse patch populate prepare print process quote read
    register remove render repair resolve sanitize save scan send serialize show split store strip tokenize
    transform translate unparse update upload validate verify wrap write
    """
)
_SHORT_WORDS = words_in("id ip os db ui io by in of on to or is no up at as")
# What comparisons are called in queries.
_OPERATORS = words_in("eq ne gt gte lt lte")
_ACRONYMS = words_in("str html http https css xml sql ssl tls dns md5 utf8 rst pdf png svg ssh smtp ftp rgb cmyk xslt")

_ARTICLES = words_in("the a an any all our this these those its their each every some current given new")
_STOPS = words_in(
    """
    for of from with to in into if when and or that which by on as so because unless until while where since using via
    but not is are was were be been has have had it we you they i at per before after than then without between
    based according like e.g i.e etc only now here there still also just yet already
    """
)
_PREPOSITIONS = words_in("for of from to in into on at with")
# Verbs that take their object with a preposition.
_JOINTS = frozenset(
    {(verb, "for") for verb in words_in("wait search scan listen watch poll prompt")}
    | {(verb, "to") for verb in words_in("convert cast coerce connect switch write")}
    | {(verb, "from") for verb in words_in("read load receive disconnect")}
)
_OPENINGS = words_in(
    """
    now then first next finally also let's we second here just simply always only recursively automatically actually
    please ok okay lastly third this
    """
)
# What is tried, needed or wanted is what is done.
_LEADING = re.compile(
    r"^(?:we |let's )?(?:"
    r"(?:try|tries|trying|attempt|attempts|attempting|need|needs|have|has|want|going|time|be sure|make sure) to|"
    r"make sure we|be sure we)\s+",
    re.I,
)
_NOISE = re.compile(
    r"^#+[:!]?\s*(TODO|FIXME|XXX|HACK|NOTE|type:|noqa|pragma|mypy|pylint|pyright|fmt|ruff|isort|nosec)", re.I
)

# What follows a condition is the command; `it` is what the condition asks for.
_CONDITION = re.compile(r"^(?:if|when|where)\s+(?P<asked>[^,.;:()]+?),\s+(?:then\s+)?(?P<command>\w.*)$", re.I)
_ASKED_FOR = re.compile(
    r"^(?:there(?:'s| is| are)|we have|we got)?\s*(?:an?|the|any)\s+(?P<noun>[\w ]+?)"
    r"(?:\s+(?:is|are|was|were|has been)\s+(?:given|specified|set|present|provided|passed|found))?$",
    re.I,
)
_REFERRING = words_in("it them")

_OF_US = re.compile(r"^\W*we\s", re.I)
_ORDINAL = re.compile(
    r"^(?:(?:first|second|third|then|next|now|last|lastly|finally)(?: of all)?,"
    r"|(?:first|second|third|fourth|last|final|\d(?:st|nd|rd|th)) (?:pass|step|phase|stage)\s*[:,-]+"
    r"|(?:pass|step|phase|stage|part) #?\d+\s*[:.,)-]+"
    r"|\(?\d{1,2}[.)]:?|\(?[a-h]\))\s+",
    re.I,
)


def words_of(identifier: str) -> list[str]:
    """Split an identifier of any style into lower-case words; what no style separates stays together."""
    if identifier.islower():
        return [word for word in identifier.split("_") if word]
    return [word.lower() for word in _WORD.findall(identifier)]


def in_camel_case(name: str) -> str:
    """Return a private name of lower-case words as `_camelCase`."""
    first, *others = name.strip("_").split("_")
    return "_" + first + "".join(word[:1].upper() + word[1:] for word in others)


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


def words_of_comment(comment: str, *, is_command: bool = False) -> tuple[list[str], bool]:
    """Return verb and object of a comment that is a command, and whether they are all that it says.

    `is_command`: what is said around it tells that it is one, and what of.
    """
    found = None if _NOISE.match(comment) else _CONDITION.match(comment.lstrip("#:! ").strip())
    if found is not None:
        return _words_of_condition(found["asked"], found["command"])
    words = _words_of_prose(comment)
    while words and words[0] in _OPENINGS:
        words = words[1:]
    verb = base_form(words[0]) if words else None
    if verb is None or verb in VAGUE_VERBS or (not is_command and _is_heading(comment, words)):
        return [], False
    joint = words[1:2] if len(words) > 2 and (verb, words[1]) in _JOINTS else []
    taken, rest = _object_words(words[1 + len(joint) :])
    # An example says nothing more.
    rest = [] if rest[:1] == ["like"] else rest
    is_whole = not rest or (len(rest) <= 4 and rest[0] in _PREPOSITIONS)
    # What «we» do is told with a reason as often as not: then it may be one step of it.
    if not is_whole and _OF_US.match(comment):
        return [], False
    told = _complement(taken, rest)
    if not taken or not (told or is_command or not _is_cut_short(taken, rest)):
        return [], False
    return [verb, *joint, *taken, *told], is_whole


def _is_heading(comment: str, words: list[str]) -> bool:
    """Return whether a word that may be a verb begins the name of a thing, as in «Query parameters»."""
    if words[0] not in _NOUN_VERBS or len(words) < 2 or words[1] in _ARTICLES:
        return False
    spelled = comment.lstrip("#:! ").split()
    is_title = len(spelled) > 1 and spelled[1][:1].isupper() and spelled[1][1:].islower()
    return is_title or (len(words) <= 3 and words[-1] in _HEADS)


# Verbs that stand before nouns as well as for a deed.
_NOUN_VERBS = words_in(
    "access cache default display filter format group index input label log map mask match open order output process "
    "query record report request return sample search sort state store stream test type view"
)
# What such a noun goes before.
_HEADS = words_in(
    """
    body code config configuration count data date details field fields file files flag flags format header headers id
    info information key length level limit list metadata mode name number option options order page parameter
    parameters params path pattern position query rate result results section settings size state statistics stats
    status string table text time type types url value width
    """
)


def _complement(taken: list[str], rest: list[str]) -> list[str]:
    """Return a short phrase behind the object that tells which one is meant, as «of enums» does."""
    if not rest or rest[0] not in ("of", "from", "for", "to", "with") or len(taken) > 2 or _is_purpose(rest):
        return []
    words, further = _object_words(rest[1:])
    return [rest[0], *words] if len(words) == 1 and not further else []


def _is_cut_short(taken: list[str], rest: list[str]) -> bool:
    """Return whether what follows an object belongs to it, so that the object alone means another thing."""
    if not rest or _is_purpose(rest) or (rest[0] == "of" and rest[1:2] and rest[1] in _ALL):
        return False
    is_open = taken[-1].endswith(("ing", "ed")) and len(taken) > 1
    return rest[0] in ("of", "for", "to", "with", "and", "or") or (is_open and rest[0] in _PREPOSITIONS | {"by"})


_OTHER_VERBS = words_in("allow avoid be become complete have prevent")
_ALL = words_in("all each every it them themselves these those")


def _is_purpose(rest: list[str]) -> bool:
    """Check for «to avoid …», which says why and not what."""
    return rest[0] == "to" and len(rest) > 1 and rest[1] in VERBS | _OTHER_VERBS


def _words_of_condition(asked: str, command: str) -> tuple[list[str], bool]:
    """Return verb and object of a command under a condition; what is left out of the name is the condition."""
    words = _words_of_prose(command)
    verb = base_form(words[0]) if words else None
    if verb is None or verb in VAGUE_VERBS:
        return [], False
    if len(words) == 2 and words[1] in _REFERRING:
        meant = _ASKED_FOR.match(asked)
        taken, rest = _object_words(meant["noun"].lower().split()) if meant is not None else ([], words)
    else:
        taken, rest = _object_words(words[1:])
    return ([verb, *taken], not rest) if taken else ([], False)


def noun_of_comment(comment: str) -> list[str]:
    """Return the words of a comment that is nothing but a short noun phrase, as a heading is."""
    words = _words_of_prose(comment)
    if not words or base_form(words[0]) is not None:
        return []
    taken, rest = _object_words(words)
    return taken if not rest else []


def _words_of_prose(comment: str) -> list[str]:
    if _NOISE.match(comment):
        return []
    prose = _ORDINAL.sub("", comment.lstrip("#:! ").strip())
    prose = _LEADING.sub("", prose)
    prose = re.split(r"[.;:,(]\s|--| - |[.:!;]$", prose, maxsplit=1)[0]
    if not prose or "?" in prose or not prose.isascii():
        return []
    return [_spelled_as_name(word.strip("`'\"*").strip("_").lower()) for word in prose.split()]


def _spelled_as_name(word: str) -> str:
    """Return a word of prose as a name has it: «de-duplicate» is one verb, «top-level» are two words."""
    joined = word.replace("-", "")
    return joined if joined in VERBS else _HYPHEN.sub("_", word)


_HYPHEN = re.compile(r"(?<=[a-z])-(?=[a-z])")


def _object_words(words: list[str]) -> tuple[list[str], list[str]]:
    """Return a noun phrase of one to three words, or nothing, and what follows it."""
    while words and words[0] in _ARTICLES:
        words = words[1:]
    end = next((n for n, word in enumerate(words) if word in _STOPS or word in _ARTICLES), len(words))
    taken, rest = words[:end], words[end:]
    if not 1 <= len(taken) <= 3 or not all(re.fullmatch(r"[a-z][a-z0-9_]*", word) for word in taken):
        return [], words
    return (taken, rest) if noun_quality("_".join(taken)) > 0.0 else ([], words)


def is_good_noun(identifier: str) -> bool:
    return noun_quality(identifier) > 0.0


def noun_quality(identifier: str) -> float:
    """Return how much a noun tells, from 0 to 1; 0 for abbreviations that only the code around it explains."""
    words = words_of(identifier)
    if not words or (identifier[-1].isdigit() and words[-1] not in _ACRONYMS):
        return 0.0
    words = ["val" if _is_joined_of_poor(word) else word for word in words]
    if not all(is_word(word) for word in words) or all(word in POOR_NOUNS | EMPTY_NOUNS for word in words):
        return 0.0
    if any(word in POOR_NOUNS for word in words):
        return 0.7
    if all(word in MIDDLING_NOUNS | EMPTY_NOUNS for word in words):
        return 0.85 if len(words) == 1 else 0.9
    return 1.0


_POOR_HEADS = POOR_NOUNS | words_in("arg cur curr new next old prev ret repr res str")
_POOR_TAILS = words_in("val vals obj objs arg args str lst dct func ptr buf num cnt idx")


def _is_joined_of_poor(word: str) -> bool:
    """Check for `resval` and the like, which no style separates."""
    return any(word[:cut] in _POOR_HEADS and word[cut:] in _POOR_TAILS for cut in range(1, len(word)))


def is_word(word: str) -> bool:
    """Return whether letters can be read out: no single letter, nothing without vowels, no heap of consonants."""
    if word in _ACRONYMS or word in _OPERATORS:
        return True
    if len(word) == 2:
        return word in _SHORT_WORDS
    spoken = _SPOKEN_AS_ONE.sub("t", word)
    return len(word) > 1 and bool(re.search(r"[aeiouy]", word)) and not re.search(r"[bcdfghjklmnpqrtvwxz]{4}", spoken)


# Consonants as in `length`, `brightness`, `birthday` and `watchlist`.
_SPOKEN_AS_ONE = re.compile(r"ngth|ghth|lfth|ght|tch|rth|dth")


_WITHOUT_PLURAL = words_in("data metadata info information children people media")


def plural(noun: str) -> str:
    if noun in _WITHOUT_PLURAL:
        return noun
    if noun.endswith("s") and not noun.endswith("ss"):
        return noun
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("x", "ch", "sh", "ss")) else "s")


def singular(noun: str) -> str:
    if len(noun) <= 3:
        return noun
    if noun.endswith("ies") and len(noun) > 4:
        return noun[:-3] + "y"
    if noun.endswith(("sses", "xes", "ches", "shes")):
        return noun[:-2]
    return noun[:-1] if noun.endswith("s") and not noun.endswith(("ss", "us", "is", "os")) else noun


# They tell what something is like, and what has an `s` added to them is no word.
_ADJECTIVES = words_in(
    """
    active alive available bold busy closed dead dirty editable empty false hidden inactive invalid italic open opaque
    ready sensitive stable sticky transparent true unavailable unstable valid writable
    """
)
_NOUNS_IN_IBLE = words_in("bible collectible convertible crucible")


def is_plural_of_no_noun(word: str) -> bool:
    """Check for `visibles` and `enableds`: an adjective, or what is done to something, with an `s` added to it."""
    stem = word[:-1] if word.endswith("s") else ""
    is_done = stem.endswith("ed") and any(each in VERBS for each in (stem[:-1], stem[:-2], stem[:-3]))
    return stem in _ADJECTIVES or is_done or (stem.endswith("ible") and stem not in _NOUNS_IN_IBLE)


def common_noun(names: Sequence[str]) -> str:
    """Return one noun for several names: the word that all end with, in the plural, or both joined by `and`."""
    stripped = [name.strip("_") for name in names]
    if len(set(stripped)) == 1:
        return stripped[0]
    split = [words_of(name) for name in stripped]
    shared: list[str] = []
    for column in zip(*(reversed(words) for words in split), strict=False):
        ends = {singular(word) for word in column} if not shared else set(column)
        if len(ends) > 1:
            break
        shared.insert(0, ends.pop())
    if shared:
        return "_".join([*shared[:-1], plural(shared[-1])])
    if len(split) == 2 and all(len(words) == 2 for words in split) and split[0][0] == split[1][0]:
        return f"{split[0][0]}_{split[0][1]}_and_{split[1][1]}"
    return "_and_".join(stripped)
