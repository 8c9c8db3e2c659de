"""Names blocks after the case that they are for, joined with what the function around them is called."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from actors.capabilities.violation_fix.refactoring.block_exits import Form
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import bound_names, names_read, own_nodes
from actors.capabilities.violation_fix.refactoring.naming.block_context import BlockContext
from actors.capabilities.violation_fix.refactoring.naming.block_effects import serves, spelled
from actors.capabilities.violation_fix.refactoring.naming.condition_words import noun_of
from actors.capabilities.violation_fix.refactoring.naming.name_words import (
    VAGUE_VERBS,
    VERBS,
    base_form,
    is_good_noun,
    noun_quality,
    singular,
    words_in,
    words_of,
    words_of_comment,
)
from actors.capabilities.violation_fix.refactoring.naming.output_verbs import verb_for
from actors.capabilities.violation_fix.refactoring.naming.suggestion import (
    BRANCH_REASON,
    BY_FUNCTION_AND_CASE,
    BY_LOG,
    BY_TYPE_LEFT,
    MISSING_REASON,
    SuggestedName,
    ends_plainly,
    joined_name,
)

# Verbs of functions that make their result of what they are given.
_MAKING = words_in("build coerce convert create decode deserialize from get load make normalize parse read to")
_ENDINGS = words_in("in of for from to as by with on at")
_LOGGING = words_in("debug info warn warning error")


def from_function_case(context: BlockContext) -> Iterator[SuggestedName]:
    """Name a branch that makes the function's result after the function and the case."""
    label, words = context.label, words_of(context.function_name)
    if label is None or not label.is_case or not context.is_branch_body or label.noun.startswith("missing"):
        return
    kind = words_of(label.noun)
    if len(kind) > 1 and len(words) > 1 and words[0] in VERBS and kind[-1] == words[-1] and ends_plainly(context):
        # `set_color` sets a special one of them.
        yield SuggestedName(joined_name(words[:-1], kind), 0.74, BY_FUNCTION_AND_CASE)
    if not words or not _makes_result(context) or context.function_name.startswith("__") or words[0] == "test":
        return
    case = words_of(label.noun)
    if set(case) & set(words):
        return
    quality = 0.62 + (0.08 if label.chain >= 3 else 0.04 if label.chain == 2 else 0.0)
    reason = BY_FUNCTION_AND_CASE
    if words[-1] in _ENDINGS or (len(words) == 1 and words[0] in VERBS):
        yield SuggestedName(joined_name(words, case), quality, reason)
    else:
        is_given = words[0] in _MAKING and _is_type_of_parameter(context)
        # What is made of a type tells more than the verb with the type alone.
        quality += 0.05 if is_given else 0.0
        yield SuggestedName(joined_name(words, "from" if is_given else "for", case), quality, reason)


def from_case_result(context: BlockContext) -> Iterator[SuggestedName]:
    """Name a branch that binds one thing, as others of its chain do, after the case and that thing."""
    label = context.label
    name = context.outputs[0] if len(context.outputs) == 1 else ""
    if label is None or not label.is_case or label.chain < _FEWEST_CASES or not context.is_branch_body:
        return
    is_apart = not {singular(word) for word in words_of(label.noun)} & {singular(word) for word in words_of(name)}
    if not is_good_noun(name) or name in context.inputs or not is_apart or not ends_plainly(context):
        return
    if any(not serves(effect, [name]) for effect in context.effects.all) or label.noun.startswith("missing"):
        return
    _, quality = verb_for(context.nodes, context.statements, name, is_input=False)
    verb = _verb_of_chain(context, name)
    yield SuggestedName(joined_name(verb, label.noun, name), min(quality, 0.8) * noun_quality(name), BRANCH_REASON)


_FEWEST_CASES = 2


def _verb_of_chain(context: BlockContext, name: str) -> str:
    """Return one verb for how all branches of a chain come by a name, so that their functions are named alike."""
    branch: ast.stmt | None = context.parents[-1]
    for parent in reversed(context.parents[:-1]):
        if not isinstance(parent, ast.If) or parent.orelse != [branch]:
            break
        branch = parent
    verbs = set()
    while isinstance(branch, ast.If):
        nodes = [part for statement in branch.body for part in own_nodes(statement)]
        if any(name in bound_names(statement) for statement in branch.body):
            verbs.add(verb_for(nodes, branch.body, name, is_input=False)[0])
        branch = branch.orelse[0] if len(branch.orelse) == 1 else None
    return verbs.pop() if len(verbs) == 1 else "build" if "build" in verbs else "determine"


def _makes_result(context: BlockContext) -> bool:
    """Return whether a block returns for the function, or binds the only name that the function returns."""
    if context.extraction.form is Form.RETURN:
        return True
    returned = {
        node.value.id if isinstance(node.value, ast.Name) else None
        for statement in context.place.function.body
        for node in own_nodes(statement)
        if isinstance(node, ast.Return)
    }
    return context.extraction.form is Form.PLAIN and len(returned) == 1 and returned == set(context.outputs)


def _is_type_of_parameter(context: BlockContext) -> bool:
    """Return whether the condition around a block asks what type a parameter of the function has."""
    parent = context.parents[-1] if context.parents else None
    test = parent.test if isinstance(parent, ast.If) else None
    test = test.values[0] if isinstance(test, ast.BoolOp) else test
    if not isinstance(test, ast.Call) or noun_of(test.func) != "isinstance" or not test.args:
        return False
    asked = test.args[0]
    return isinstance(asked, ast.Name) and asked.id in {argument.arg for argument in context.place.parameters}


def from_tested_object(context: BlockContext) -> Iterator[SuggestedName]:
    """Name what is done with something that may be missing after it, where it is what the block works with."""
    tested = _tested_object(context)
    if tested is None or context.outputs or not ends_plainly(context) or context.effects.is_pure or context.has_guards:
        return
    noun = noun_of(tested)
    if noun is None or not is_good_noun(noun) or noun_quality(noun) < 1.0 or words_of(noun)[0] in VERBS:
        return
    body = context.statements[0].body if isinstance(context.statements[0], ast.If) else context.statements
    spelling = spelled(tested)
    reads = sum(
        isinstance(part, ast.Name | ast.Attribute) and isinstance(part.ctx, ast.Load) and spelled(part) == spelling
        for statement in body
        for part in ast.walk(statement)
    )
    # What is only asked for tells when something is done, not what.
    if not reads:
        return
    is_option = isinstance(tested, ast.Name) and tested.id in {each.arg for each in context.place.parameters}
    verb = "init" if context.function_name == "__init__" else "apply" if is_option else "handle"
    yield SuggestedName(joined_name(verb, noun), 0.54, f"the {noun}{MISSING_REASON}")


def _tested_object(context: BlockContext) -> ast.Name | ast.Attribute | None:
    """Return the name or attribute that a block, one `if` or the body of one, is only run for if it is there."""
    only = context.statements[0] if len(context.statements) == 1 else None
    asked = only if isinstance(only, ast.If) and not only.orelse else None
    if asked is None and context.is_branch_body:
        parent = context.parents[-1]
        asked = parent if isinstance(parent, ast.If) and not parent.orelse else None
    if asked is None:
        return None
    test = asked.test
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.IsNot):
        right = test.comparators[0]
        test = test.left if isinstance(right, ast.Constant) and right.value is None else test
    return test if isinstance(test, ast.Name | ast.Attribute) else None


def from_rest(context: BlockContext) -> Iterator[SuggestedName]:
    """Name what follows a test of type, or the one thing that the function works out first, after the function."""
    words = words_of(context.function_name)
    if context.parents or context.extraction.form is not Form.RETURN or not words or len(words) > _MOST_OWN_WORDS:
        return
    if context.statements[-1] is not context.place.function.body[-1] or context.function_name.startswith("__"):
        return
    required = _required_type(context)
    case = words_of(required) if required is not None else []
    if case and is_good_noun("_".join(case)) and not set(case) & set(words):
        joint = ["from"] if words[0] in _MAKING and len(words) > 1 else ["for"] if words[0] not in VERBS else []
        yield SuggestedName(joined_name(words, joint, case), 0.66, BY_TYPE_LEFT)
    parameters = {argument.arg for argument in context.place.parameters}
    worked_out = [name for name in context.inputs if name not in parameters and name not in context.bound]
    noun = worked_out[0] if len(worked_out) == 1 else ""
    # The last item of a loop is nothing that the rest is made of.
    assigned = [each for each in context.place.function.body if isinstance(each, ast.Assign | ast.AnnAssign)]
    if not any(noun in bound_names(each) for each in assigned) or words[0] not in VERBS - VAGUE_VERBS:
        return
    if not is_good_noun(noun) or set(words_of(noun)) & set(words):
        return
    if noun in names_read(context.statements[0]):
        yield SuggestedName(joined_name(words, "from", noun), 0.6 * noun_quality(noun), f"what is made of the {noun}")


_MOST_OWN_WORDS = 3


def _required_type(context: BlockContext) -> str | None:
    """Return the type of what is left after `if not isinstance(x, T): …` that leaves the function."""
    body = context.place.function.body
    position = body.index(context.statements[0])
    guard = body[position - 1] if position else None
    if not isinstance(guard, ast.If) or guard.orelse or not isinstance(guard.body[-1], ast.Return | ast.Raise):
        return None
    test = guard.test.operand if isinstance(guard.test, ast.UnaryOp) and isinstance(guard.test.op, ast.Not) else None
    if not isinstance(test, ast.Call) or noun_of(test.func) != "isinstance" or len(test.args) != 2:
        return None
    asked, type_ = test.args
    is_used = isinstance(asked, ast.Name) and asked.id in context.inputs
    name = noun_of(type_) if isinstance(type_, ast.Name | ast.Attribute) else None
    return name if is_used else None


def from_added_items(context: BlockContext) -> Iterator[SuggestedName]:
    """Name a loop that does nothing but add to one collection after that and its own items."""
    effects, loop = context.effects.all, context.only_loop
    targets = {effect.target.rpartition(".")[2] for effect in effects}
    if loop is None or len(targets) != 1 or not context.only_adds or not ends_plainly(context) or context.has_guards:
        return
    noun, items = targets.pop(), context.iterated_noun
    if (
        items
        and is_good_noun(noun)
        and is_good_noun(items)
        and noun.endswith("s")
        and not set(words_of(noun)) & set(words_of(items))
    ):
        yield SuggestedName(
            joined_name("add", noun, "for", items), 0.6 * noun_quality(noun), f"what is added to {noun}"
        )


_GERUND = re.compile(r"[A-Z]?[a-z]+ing\b")


def from_log_message(context: BlockContext) -> Iterator[SuggestedName]:
    """Name a block that opens with a message to a log after what the message says is being done."""
    body = context.statements
    if len(body) == 1 and isinstance(body[0], ast.If) and not body[0].orelse:
        body = body[0].body
    call = body[0].value if isinstance(body[0], ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr not in _LOGGING:
        return
    first = call.args[0] if call.args else None
    text = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    if not _GERUND.match(text) or base_form(text.split()[0].lower()) is None or not ends_plainly(context):
        return
    words, is_whole = words_of_comment("# " + text)
    if words and is_whole and not context.has_blank_lines:
        yield SuggestedName(joined_name(words), 0.66, BY_LOG)


# In no order that matters: the best name is taken.
CASE_RULES = (
    from_function_case,
    from_case_result,
    from_tested_object,
    from_rest,
    from_added_items,
    from_log_message,
)
