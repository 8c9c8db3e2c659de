"""Chooses among the names that a question may mean the one that clearly fits best.

All others are left out: a value of the wrong name would be a false answer. Pure functions.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from runtime.codebase.resolution.default_values.value_chains import ValueChain
from runtime.codebase.resolution.default_values.value_sites import key_of

# The least shares of the subject's weight that what is said of a name and the name alone cover, and how far behind the
# next name must be.
# The more of the subject the name itself has, the less must be said of it besides.
LEAST_SHARES = ((0.6, 0.4), (0.5, 0.5))
LEAST_OF_RIVAL = 0.25
LEAST_MARGIN = 1.12
MAX_TIED, WHOLE_NAME = 3, 0.9
# The least share of the subject's words that a name has which says nothing but what is asked.
LEAST_OF_PLAIN = 0.25


class Candidate(msgspec.Struct, frozen=True):
    """Represents a name that a question may mean: the share of the subject that is said of it, and its proofs.

    `plain`: the share of the subject's words, those of measure aside, that the name has; 0 if it has any other word.
    """

    name: str
    share: float
    of_name: float
    chains: tuple[ValueChain, ...]
    plain: float = 0.0


def clear_best(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidate that covers the subject clearly better than all others; none if there is no such one.

    Two that cover it about as well are both returned, and three if their names have all of it: each says of which thing
    it is the value. A constant that the proof of another one leads through is no other one.
    """
    led = [one for one in candidates if is_covering(one)]
    steps = [(chain, step) for one in led for chain in one.chains for step in chain.steps[1:]]
    # The line of a value in a declaration of several lines bears the name of what is declared.
    inner = {key_of(step.name) for chain, step in steps if key_of(step.name) != key_of(chain.name)}
    named = [one for one in candidates if one.of_name >= LEAST_OF_RIVAL and not _is_link(one, inner)]
    if not named or not is_covering(named[0]):
        return _plain_best([one for one in candidates if not _is_link(one, inner)])
    tied = [named[0], *(one for one in named[1:] if named[0].share < LEAST_MARGIN * one.share)]
    most = MAX_TIED if all(one.of_name >= WHOLE_NAME for one in tied) else 2
    return tied if len(tied) <= most and all(map(is_covering, tied)) else []


def _plain_best(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the name that says nothing but what is asked, and of that clearly most; two if they say as much."""
    plain = sorted((one for one in candidates if one.plain >= LEAST_OF_PLAIN), key=lambda one: (-one.plain, -one.share))
    tied = [one for one in plain if plain[0].plain < LEAST_MARGIN * one.plain]
    return tied if len(tied) <= 2 else tied[:1] if _have_one_value(tied) else []


def _have_one_value(candidates: Sequence[Candidate]) -> bool:
    return len({(chain.value or "").strip("\"'") for one in candidates for chain in one.chains}) == 1


def _is_link(candidate: Candidate, inner: Collection[str]) -> bool:
    """Return whether a name is a constant that the proof of another one leads through."""
    is_constant = all(chain.role == "constant" or not chain.owner for chain in candidate.chains)
    return key_of(candidate.name) in inner and is_constant


def is_covering(candidate: Candidate) -> bool:
    """Return whether enough of the subject is said of a name."""
    return any(candidate.share >= share and candidate.of_name >= own for share, own in LEAST_SHARES)
