"""Groups verbs that a reader takes for one another, and knows those that say nothing."""

from __future__ import annotations

from actors.capabilities.violation_fix.refactoring.naming.name_words import VERBS, words_in, words_of

# One line for each group, which is called by its first verb.
_GROUPS = """
check assert ensure validate verify enforce require
build assemble compose construct create generate make produce instantiate prepare
get determine compute calculate find lookup resolve infer select choose pick search locate retrieve guess estimate \
detect derive evaluate
load read import
fetch download request query
parse decode deserialize interpret tokenize extract
write save store dump export persist
print display show report log warn
format render serialize encode
convert transform translate normalize coerce cast adapt sanitize clean strip
add append insert register push attach include extend put inject
remove delete discard drop clear purge prune pop
update set apply modify adjust change refresh sync assign
init setup initialize configure
run execute call invoke perform process handle do dispatch
start launch begin spawn
stop close shutdown terminate kill finish
send post publish submit emit notify upload transmit
collect gather accumulate aggregate list enumerate
merge combine join concat concatenate
filter exclude skip
split partition separate
copy clone duplicate
replace substitute
visit walk traverse iterate iter
draw plot paint
"""
_GROUP_OF = {verb: line.split()[0] for line in _GROUPS.strip().splitlines() for verb in line.split()}
_VAGUE = words_in("do process perform")
_QUESTIONS = words_in("is has should can needs must")
QUESTION, NO_VERB = "is", "none"
# They may be what an author calls a block, and tell a reader nothing.
NEVER_GIVEN = frozenset({"run", QUESTION, NO_VERB})


def group_of(verb: str) -> str:
    return _GROUP_OF.get(verb, verb)


def verb_class(name: str) -> str:
    """Return the verb that the name of a function begins with, one word for all questions, or that there is none."""
    words = words_of(name.strip("_"))
    if words and words[0] in _QUESTIONS:
        return QUESTION
    return words[0] if words and words[0] in VERBS | _VAGUE else NO_VERB
