"""Defines how a language writes statements that do nothing, or that only fail with a constant text.

The kinds of nodes are named alike by most tree-sitter grammars, so they are listed once, for all languages.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from dataclasses import dataclass

# Constant texts: quoted, with nothing inserted, and several of them joined.
TEXT = r"""(?:"[^"#$]*"|'[^']*'|`[^`$]*`)(?:(?:\s*[+.,]\s*|\s+)?(?:"[^"#$]*"|'[^']*'|`[^`$]*`))*"""
# What the name of a function says that only fails, as `raise_closed` and `throwClosed` do; `fail_if_missing` does not.
FAILS_BY_NAME = re.compile(
    r"_*(?:[Rr]aise|[Tt]hrow|[Ff]ail|[Dd]ie|[Pp]anic|[Aa]bort|[Cc]rash|[Bb]ail)(?![a-z])"
    r"(?!.*(?:_(?:if|unless|when|for|on)(?![a-z])|(?:If|Unless|When|For|On)(?![a-z])))\w*"
)
# What the name of a function says that only lets others run, as a checkpoint of a scheduler does.
YIELDS_BY_NAME = re.compile(
    r"yield|checkpoint|pause|tick|flush|sleep|wait|delay|relax|switch|spin|snooze|backoff|gosched|schedul|settle|noop"
    r"|micro_?task|breathe|idle|cooperat|defer|drain|dummy",
    re.IGNORECASE,
)
# What the name of a function says that is there to print a text, be it always the same.
PRINTS_BY_NAME = re.compile(
    r"main|print|show|say|tell|display|usage|help|banner|about|version|greet|hello|welcome|header|footer|title|line|menu"
    r"|legend|separator|prompt|echo|draw|render|write|output|demo|example|report|clear|bell|beep",
    re.IGNORECASE,
)
NEVER_MATCHES = r"(?!)"
# What stands for no value in one language or another.
_ABSENT = frozenset({"None", "Unit", "null", "nil", "undefined", "NULL", "nullptr"})


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleSyntax:
    """Says by patterns, for whole statements, what does nothing in a language. A field left out matches nothing."""

    # Statements that end what they stand in with a general error and a constant text, and values that say the same.
    fails: str = NEVER_MATCHES
    failed_value: str = NEVER_MATCHES
    # Statements and values without an effect or content, beside those that all languages share.
    nothing: str = NEVER_MATCHES
    nothing_value: str = NEVER_MATCHES
    # What is written around a value without changing it; the group that matches is the value.
    wrapped: str = NEVER_MATCHES
    # Statements that name what is used from elsewhere: no work beside what is none, but alone.
    imports: str = NEVER_MATCHES
    # Functions that only compute, whatever they are given; where none is named, variables that nothing reads stay.
    pure_functions: str = NEVER_MATCHES
    # Functions and methods whose result is all that they are called for, by what is written before the brackets.
    idle_functions: str = NEVER_MATCHES
    # More of them, of which honest bodies call none alone; and those that may fail by what they are given, or take all
    # out of it, which may be all that is asked of a body (`on` names the object of a method).
    idle_alone: str = NEVER_MATCHES
    checking_functions: str = NEVER_MATCHES
    # Statements that only let others run, and what surrounds statements without an effect of its own.
    gives_way: str = NEVER_MATCHES
    idle_contexts: str = NEVER_MATCHES
    # Calls that compute without an effect; methods that run the block that they are given, once or for each element.
    pure_calls: str = NEVER_MATCHES
    iterators: str = NEVER_MATCHES
    # What the head of a function says that never returns, and that what it runs through is taken out of it; a group
    # names what is.
    never_returns: str = NEVER_MATCHES
    drains: str = NEVER_MATCHES
    # An assignment to a plain name makes a variable of the function, unless its text says that it is another's.
    assigns_locals: bool = False
    not_local: str = NEVER_MATCHES
    # A bare name that is no parameter calls a method.
    names_call: bool = False
    # Definitions whose last expression is what they return.
    value_bodies: frozenset[str] = frozenset()
    # What stands for no value, and whether that and the keywords may be written in any case.
    absent: frozenset[str] = frozenset()
    keywords_in_any_case: bool = False
    # Whether a condition that is an empty list does not hold.
    empty_is_false: bool = False

    @property
    def names(self) -> frozenset[str]:
        """Words that stand for no value in other languages alone, and are names in this one."""
        return _ABSENT - self.absent

    @property
    def of_whole_body(self) -> IdleSyntax:
        """Return what judges a whole body, of which nothing else is known to do something."""
        return _of_whole_body(self)


@functools.lru_cache(maxsize=64)
def _of_whole_body(syntax: IdleSyntax) -> IdleSyntax:
    return dataclasses.replace(syntax, idle_functions=f"(?:{syntax.idle_functions})|(?:{syntax.idle_alone})")


def thrown(keyword: str, types: str, text: str = TEXT) -> str:
    """Return the pattern of a statement that throws one of the error `types` with constant text, or without any."""
    names = "|".join(types.split())
    return rf"{keyword}\s*(?:\w+(?:::|\.|\\))*\\?(?:{names})\s*(?:[({{]\s*(?:{text})?\s*,?\s*[)}}])?"


def _kinds(words: str) -> frozenset[str]:
    return frozenset(words.split())


SEQUENCES = _kinds("""
    block statement_block compound_statement statements statement_list body_statement do_group do then else else_clause
    else_statement begin begin_block finally_clause finally_block finally ensure unsafe_block labeled_statement
    labeled_expression expression_statement block_body control_structure_body const_block defer_statement
""")
BRANCHES = _kinds("""
    if_statement if_expression if unless if_modifier unless_modifier elif_clause elsif else_if_clause
""")
INVERTED = _kinds("unless unless_modifier until until_modifier")
LOOPS = _kinds("""
    while_statement while_expression while until while_modifier until_modifier for_statement for_expression for
    for_in_statement for_range_loop enhanced_for_statement foreach_statement loop_expression do_statement
    do_while_statement c_style_for_statement
""")
RUN_ONCE = _kinds("do_statement do_while_statement")
SWITCHES = _kinds("""
    switch_statement switch_expression expression_switch_statement type_switch_statement match_statement
    match_expression when_expression case case_statement select_statement
""")
LEFT_BY_BREAK = _kinds(
    "switch_statement switch_expression expression_switch_statement type_switch_statement select_statement"
)
SECTIONS = _kinds("""
    switch_body switch_block switch_block_statement_group switch_section switch_case switch_default switch_rule
    expression_case type_case default_case case_clause match_block match_arm when_entry when case_item case_statement
    default_statement in_clause
""")
TRIES = _kinds("try_statement try_expression")
HANDLERS = _kinds("except_clause except_group_clause catch_clause catch_block rescue")
CONTEXTS = _kinds("with_statement")
PARTS = (BRANCHES | LOOPS | SWITCHES | TRIES | CONTEXTS) - _kinds("elif_clause elsif else_if_clause case_statement")
RETURNS = _kinds("return_statement return_expression return")
EXITS = _kinds("""
    break_statement continue_statement break_expression continue_expression break next continue goto_statement
    jump_expression redo
""")
LOCALS = _kinds("""
    lexical_declaration variable_declaration short_var_declaration var_declaration const_declaration let_declaration
    declaration local_variable_declaration property_declaration local_declaration_statement
""")
ASSIGNMENTS = _kinds("assignment assignment_expression")
# Assignments within an expression, which are statements where they stand alone.
NAMED_VALUES = _kinds("named_expression")
# Assignments whose left side may be `_`, in Go.
DROPS = _kinds("assignment_statement")
DEFINITIONS = _kinds("""
    function_definition function_declaration function_item local_function_statement method struct_item
    generator_function_declaration
""")
FUNCTION_VALUES = _kinds("""
    lambda lambda_expression lambda_literal arrow_function function_expression func_literal closure_expression
    anonymous_function anonymous_method_expression
""")
UPDATES = _kinds("""
    update_expression postfix_unary_expression prefix_unary_expression inc_statement dec_statement postfix_expression
    unary_expression assignment_statement assignment_expression augmented_assignment_expression compound_assignment_expr
    assignment
""")
# Parts of expressions that compute at most; what else stands in an expression may have an effect.
PURE = _kinds("""
    identifier field_identifier property_identifier type_identifier name qualified_name variable_name word self this
    base constant instance_variable class_variable global_variable symbol simple_symbol number integer float true
    false none null nil undefined boolean string string_start string_content string_end string_fragment
    string_literal_content interpreted_string_literal_content raw_string_literal_content encapsed_string
    template_string template_substitution interpolation
    escape_sequence char character ellipsis attribute member_expression member_access_expression
    field_access field_expression selector_expression navigation_expression scope_resolution scoped_identifier subscript
    subscript_expression index_expression element_access_expression array_access binary_expression binary_operator
    boolean_operator comparison_operator not_operator unary_expression unary_operator unary prefix_unary_expression
    binary pointer_expression reference_expression parenthesized_expression parenthesized_statements tuple list
    dictionary pair set array hash object unit_expression range range_expression as_expression cast_expression
    type_cast_expression conditional ternary_expression conditional_expression expression_list tuple_expression
    array_expression composite_literal literal_value literal_element initializer_list array_creation_expression
    let_condition concatenated_string condition_clause for_clause range_clause in when_subject variable_declarator
    init_declarator var_spec var_spec_list const_spec variable_declaration array_declarator pointer_declarator
    reference_declarator modifiers mutable_specifier variable_modifier storage_class_specifier type_qualifier annotation
    parenthesized_list test_command test_operator simple_expansion expansion statement_identifier dimensions
    dimensions_expr array_initializer resource_specification empty_statement let_chain binding_pattern_kind
    sizeof_expression type_descriptor
""")
# Branches that are a case of another one.
CASES = _kinds("elif_clause elsif else_if_clause else_clause else")
# Expressions that compare; what they compare may be called for, and is lost.
COMPARISONS = _kinds("""
    comparison_operator binary_expression binary_operator boolean_operator binary not_operator
""")
CALLS = _kinds("""
    call call_expression invocation_expression method_invocation function_call_expression member_call_expression
    argument_list arguments argument value_arguments value_argument keyword_argument
""")
# Members of an object, which the languages that have properties may compute.
MEMBERS = _kinds("attribute member_expression member_access_expression navigation_expression")
LABELS = _kinds("statement_identifier label label_name label_identifier")
LABEL_FIELDS = frozenset({"pattern", "condition", "type"})
NAME_FIELDS = frozenset({"pattern", "left", "name", "declarator", "type"})
ACTIVE_MARKS = frozenset({"async", "<-", "++", "--", "delete", "await", "yield", "throw", "new"})
