"""Strips from a question the words that only say how it is to be answered.

«Give me an overview of how retries work» asks about retries: «overview» is a word of the request, and a search for it
finds whatever speaks of overviews. Frames are taken off at the beginning and at the end of a text of ordinary length.
The expressions are possessive and anchored, so that they take linear time.
"""

from __future__ import annotations

import functools
import re

from runtime.codebase.files.words import query_terms

# Longer texts are reports: what they begin with is told, not asked.
MAX_FRAMED_CHARS = 600
_MAX_FRAMES = 4

_ADJECTIVE = (
    "(?:main|major|key|core|important|relevant|different|various|high-level|high level|brief|short|quick|general|rough"
    "|overall|detailed|complete|full|basic|simple|step-by-step|end-to-end|bird's-eye)"
)
_ADJECTIVES = f"(?:{_ADJECTIVE},? ){{0,3}}"
_PARTS = (
    "(?:parts?|pieces?|components?|modules?|classes|functions|methods|files|packages?|places?|layers?|areas?|bits"
    "|building blocks|sub-?systems?)"
)
_OF_CODE = (
    "(?: (?:of|in|inside|within) (?:(?:the|this|your|our) )?(?:(?:source |whole )?code(?: ?base)?|repo(?:sitory)?"
    "|project|library|package|program|source|app(?:lication)?))?"
)
_ACCOUNT = "(?:overview|summary|explanation|description|outline|introduction|walkthrough|tour|idea|sense|account)"
_ASPECT = (
    "(?:flow|process|mechanism|logic|design|architecture|structure|layout|approach|strategy|life ?cycle|concept|idea"
    "|principle|implementation|internals)"
)
_PLAYS = (
    "(?:(?:(?:is|are) )?(?:involved in|responsible for|in charge of|concerned with|used (?:for|to))|deals? with"
    "|takes? (?:part in|care of)|makes? up|belongs? to|plays? a (?:part|role) in|participates? in|contributes? to)"
)
_TOGETHER = (
    "(?:(?:(?:all )?(?:work|fit|hang|play|come|go|belong) together|interact|cooperate|collaborate|relate"
    "|connect)(?: (?:to|with) (?:each other|one another))?)"
)

# Each is taken off only where something is left behind it that can be looked for.
_OPENINGS = (
    r"(?:hi|hello|hey|ok|okay|so|well|now|please)[,.!:]? ",
    "(?:can|could|would|will) you (?:please )?",
    "(?:please )?(?:explain|describe|outline|summari[sz]e|show|tell|walk|help)(?: (?:to |with )?(?:me|us))?"
    "(?: (?:to )?understand)?(?: through| about)?[:,]? (?=how|what|where|which|who|why|when|the |an? |`)",
    "(?:i am|i'm|we are|we're) (?:trying|looking) to (?:understand|find(?: out)?|learn|figure out|see)[:,]? ",
    "(?:i|we)(?:'d| would) (?:like|love) to (?:know|understand|see|learn)(?: more)?(?: about)?[:,]? ",
    "(?:i|we) (?:want|need) to (?:know|understand|find out|learn)(?: more)?(?: about)?[:,]? ",
    "(?:do|can) you (?:know|say|tell me) ",
    f"(?:please )?(?:give|provide|show|write)(?: me| us)? (?:an? |the )?{_ADJECTIVES}{_ACCOUNT} (?:of|about|to|for) ",
    f"(?:what is|what's|explain|describe|how about) the {_ADJECTIVES}{_ASPECT} (?:of|behind|for|used (?:for|by)) ",
    f"(?:which|what)(?: are)?(?: the)? {_ADJECTIVES}{_PARTS}{_OF_CODE} (?:that )?{_PLAYS} ",
)
_CLOSINGS = (
    f",? (?:and )?how (?:do|are|does) (?:they|these|those|the {_PARTS})(?: all)? (?:{_TOGETHER}|related|connected"
    "|linked|organi[sz]ed|used together)",
    ",? (?:and )?what (?:does|is) each(?: one)?(?: of (?:them|these))? (?:do|for|responsible for)",
    ",? (?:and )?(?:where|how) (?:is|are|does|do) (?:that|this|it|they) (?:done|implemented|decided|handled|happen"
    "|work|in the code)",
    r"(?:,? (?:under the hood|behind the scenes|step by step|in detail|from start to (?:finish|end)|end to end"
    r"|at a high level|in general|in a nutshell|exactly|internally))",
)


class _Frames:
    def __init__(self) -> None:
        self.opening = _compiled(rf"\A\W*(?:{'|'.join(_OPENINGS)})")
        self.closing = _compiled(rf"(?:{'|'.join(_CLOSINGS)})\W*\Z")


def without_frame(text: str) -> str:
    """Return a question without the words that only frame it; the text as it is where nothing else is left.

    «Which parts of the code deal with retries, and how do they work together?» gives «retries».
    """
    if len(text) > MAX_FRAMED_CHARS:
        return text
    frames, rest = _frames(), text
    for _ in range(_MAX_FRAMES):
        opening = frames.opening.match(rest)
        shorter = rest if opening is None else rest[opening.end() :]
        closing = frames.closing.search(shorter)
        shorter = shorter if closing is None else shorter[: closing.start()]
        if shorter == rest or not query_terms(shorter).counts:
            break
        rest = shorter
    return rest


@functools.cache
def _frames() -> _Frames:
    return _Frames()


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace(" ?", r"\s?").replace(" ", r"\s++"), re.IGNORECASE)
