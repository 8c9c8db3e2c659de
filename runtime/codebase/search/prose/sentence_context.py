"""Tells sentences that stand by themselves from those that need the one before or the one behind.

A sentence such as «However, if it is set …» misleads when it is quoted alone, and so does «Many pools cache statements»
before «This one does not». The openers are those of English; a sentence in another language counts as standing by
itself. Pure functions.
"""

from __future__ import annotations

import re

# What joins a sentence to the one before wherever it stands.
_CONNECTS = re.compile(
    r"(?:however|otherwise|instead|therefore|thus|hence|then|also|additionally|furthermore|moreover|similarly|likewise"
    r"|conversely|nevertheless|nonetheless|but|and|or|nor|so|yet|still|again|consequently|accordingly|finally|next"
    r"|afterwards?|meanwhile|alternatively|in addition|in contrast|as a result|as such|because of (?:this|that)"
    r"|if (?:so|not)|until then|at (?:this|that) point|after (?:this|that)|before (?:this|that)|by doing|doing so"
    r"|for (?:this|that|these|those|example|instance)|e\.g\.|i\.e\.|note that (?:this|that|it|these|those|they)"
    r"|unless (?:it|this|that|they)"
    r"|in (?:this|that|these|those|such|both|either|which) (?:\w+ )?(?:case|cases|mode|way|situation|event|context)s?"
    r"|(?:the )?(?:former|latter|above|same|following)|(?:the|this|that) (?:second|third|other) (?:one|case|option)"
    r"|(?:setting|enabling|disabling|using|use|doing|passing) (?:this|it|them|these|that)|there(?! (?:is|are|must|can))"
    r"|here)\b(?!-)",
    re.IGNORECASE,
)
# What stands for something that was named: the thing described, at the beginning of its own documentation.
_REFERS = re.compile(
    r"(?:it|its|this|that|these|those|they|their|such|(?:when|if|once|while|unless|where) (?:it|this|that|these|they"
    r"|enabled|disabled|set|unset|given|true|false|omitted|specified|provided|present|absent|empty|none|null|used"
    r"|in use|both|not|no)"
    r"|note:? (?:this|it|these)|(?:enabled|disabled|required|ignored|deprecated|only) (?:if|when|by|in|for))\b(?!-)",
    re.IGNORECASE,
)
# What a comment calls the thing that it documents, wherever it speaks of it.
_ITSELF = re.compile(
    r"this (?:function|method|class|module|type|option|setting|parameter|argument|flag|macro|struct|interface|trait"
    r"|test|package|file|constructor|hook|middleware|component|field|property|variable|constant|value|object|command)\b",
    re.IGNORECASE,
)
# What names something that was spoken of before, in the middle of a sentence: «counted towards this limit».
_NAMES_AGAIN = re.compile(
    r"\b(?:of|to|towards?|for|in|on|by|with|from|before|after|until|under|over|into|than|through|per|within|without"
    r"|against|beyond|above|below)\s+(?:this|these|those)\s+([a-z]{3,})",
    re.IGNORECASE,
)
# What «this» names without having been spoken of: the text, the project, the moment; and words that are no nouns.
_AT_HAND = re.compile(
    r"librar(?:y|ies)|project|package|repository|document|section|page|guide|file|module|readme|chapter|article|table"
    r"|list|tutorial|tool|program|framework|plugin|crate|gem|app|application|implementation|software|release|version"
    r"|time|point|moment|way|reason|purpose|case|mode|situation|event|context|mean|kind|sort|type|machine|computer"
    r"|system|user|this|was|were|will|can|has|have|do|does|the|and"
)
# What takes back what was said just before, in whole or for one case.
_CONTRASTS = re.compile(
    r"(?:however|but|yet|though|although|nevertheless|nonetheless|conversely|unlike|except|in contrast"
    r"|on the other hand|(?:this|that|it|they|these) (?:do|does|did|is|are|was|will|can|has|have)(?: not|n['’]t))\b",
    re.IGNORECASE,
)
_DENIES = re.compile(r"\b(?:not|never|cannot|no longer)\b|n['’]t\b", re.IGNORECASE)
_DENIES_ALL = re.compile(
    r"\bno such\b|\b(?:is|was|are|were)(?: not|n['’]t) (?:the case|true|so)\b|\b(?:do|does)(?: not|n['’]t) apply\b"
    r"|\bno longer (?:true|the case|applies|apply)\b",
    re.IGNORECASE,
)
# A denial in so few words speaks of what was said just before.
MAX_DENIAL_WORDS = 6
# Of shorter nouns an `s` at the end may be no plural.
MIN_STEM_CHARS = 4
_OPENING = "\"'([*_-—– "


def is_dependent(text: str, *, is_first: bool, documents: bool = False) -> bool:
    """Return whether a sentence cannot be quoted without the one before it.

    `is_first`: it begins the documentation of what it is quoted for, which «this» and «when enabled» then refer to.
    `documents`: it stands in a comment, which calls what it documents «this function».
    """
    begun = text.lstrip(_OPENING)
    if documents and _ITSELF.match(begun):
        return False
    return _CONNECTS.match(begun) is not None or (not is_first and _REFERS.match(begun) is not None)


def named_again(text: str) -> str | None:
    """Return the noun that a sentence takes for known without having named it: `limit` of «towards this limit».

    The text and the project themselves are known to who reads on. None for a sentence that takes nothing for known.
    """
    for found in _NAMES_AGAIN.finditer(text):
        noun = _stem(found[1].lower())
        if not _AT_HAND.fullmatch(noun) and noun not in text[: found.start()].lower():
            return noun
    return None


def _stem(noun: str) -> str:
    return noun.removesuffix("s") if len(noun) > MIN_STEM_CHARS else noun


def takes_back(text: str) -> bool:
    """Return whether a sentence denies what the sentence before it says: «This one does not», «…, no such limit»."""
    words = text.split()
    return denies_altogether(text) or (len(words) <= MAX_DENIAL_WORDS and _DENIES.search(text) is not None)


def denies_altogether(text: str) -> bool:
    """Return whether a sentence denies what was said in sentences before it, not only in the last."""
    return _DENIES_ALL.search(text) is not None


def qualifies(text: str) -> bool:
    """Return whether a sentence limits what the one before it says: «However, …»."""
    return _CONTRASTS.match(text.lstrip(_OPENING)) is not None
