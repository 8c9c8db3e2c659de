"""Tells sentences that stand by themselves from those that depend on the one before.

A sentence such as «However, if it is set …» misleads when it is quoted alone. The openers are those of English; a
sentence in another language counts as standing by itself. Pure functions.
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
