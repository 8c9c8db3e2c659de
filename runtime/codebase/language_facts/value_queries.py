"""Declares where each language writes values, by queries of its grammar.

A query captures `@site` with `@value` and, unless the value tells it, `@name`. The form of a site is the one under
which its query stands in the table.
"""

from __future__ import annotations

from runtime.codebase.language_parts.value_syntax import Reading, SiteForm, ValueSyntax

_ECMASCRIPT: dict[SiteForm, str] = {
    "binding": """
        (variable_declarator name: (identifier) @name value: (_) @value) @site
        (assignment_expression left: (_) @name right: (_) @value) @site
        (augmented_assignment_expression left: (_) @name operator: ["||=" "??="] right: (_) @value) @site
        """,
    "entry": "(pair key: (_) @name value: (_) @value) @site",
    "call": "(call_expression arguments: (arguments . (string) @name)) @site @value",
    "fallback": '(binary_expression operator: ["||" "??"]) @site @value (ternary_expression) @site @value',
}
_JAVASCRIPT: dict[SiteForm, str] = {
    **_ECMASCRIPT,
    "binding": f"{_ECMASCRIPT['binding']} (field_definition property: (_) @name value: (_) @value) @site",
    "parameter": """
        (assignment_pattern left: (identifier) @name right: (_) @value) @site
        (object_assignment_pattern left: (_) @name right: (_) @value) @site
        (pair_pattern key: (_) @name value: (assignment_pattern right: (_) @value)) @site
        """,
}
_TYPESCRIPT: dict[SiteForm, str] = {
    **_ECMASCRIPT,
    "binding": f"{_ECMASCRIPT['binding']} (public_field_definition name: (_) @name value: (_) @value) @site",
    "parameter": f"""{_JAVASCRIPT["parameter"]}
        (required_parameter pattern: (identifier) @name value: (_) @value) @site
        (optional_parameter pattern: (identifier) @name value: (_) @value) @site
        """,
    "member": "(enum_assignment name: (_) @name value: (_) @value) @site (enum_body name: (_) @name @site @value)",
}
_C: dict[SiteForm, str] = {
    "binding": """
        (preproc_def name: (_) @name value: (_) @value) @site
        (init_declarator declarator: (_) @name value: (_) @value) @site
        (assignment_expression left: (_) @name right: (_) @value) @site
        """,
    "entry": "(initializer_pair designator: (field_designator (_) @name) value: (_) @value) @site",
    "member": "(enumerator name: (_) @name) @site @value",
    "fallback": "(conditional_expression) @site @value",
}
_JS_READING = Reading(fallbacks=frozenset({"||", "??"}))

PYTHON = ValueSyntax(
    Reading(hash_comments=True, fallbacks=frozenset({"or"})),
    {
        "binding": "(assignment left: (_) @name right: (_) @value) @site",
        "parameter": """
            (default_parameter name: (_) @name value: (_) @value) @site
            (typed_default_parameter name: (_) @name value: (_) @value) @site
            """,
        "entry": "(pair key: (_) @name value: (_) @value) @site",
        "keyword": "(keyword_argument name: (_) @name value: (_) @value) @site",
        "call": "(call arguments: (argument_list (string) @name)) @site @value",
        "fallback": "(boolean_operator) @site @value (conditional_expression) @site @value",
    },
    constructors="__init__ __new__ __post_init__ __attrs_post_init__",
)

JAVASCRIPT = ValueSyntax(_JS_READING, _JAVASCRIPT, constructors="constructor")

TYPESCRIPT = ValueSyntax(_JS_READING, _TYPESCRIPT, constructors="constructor")

GO = ValueSyntax(
    Reading(),
    {
        "binding": """
            (const_spec name: (_) @name value: (_) @value) @site
            (var_spec name: (_) @name value: (_) @value) @site
            (short_var_declaration left: (_) @name right: (_) @value) @site
            (assignment_statement left: (_) @name operator: "=" right: (_) @value) @site
            """,
        "entry": "(keyed_element key: (_) @name value: (_) @value) @site",
        "mark": "(field_declaration name: (_) @name tag: (_) @value) @site",
        "guard": """
            ((if_statement consequence: (block (statement_list
                . (return_statement (expression_list . (selector_expression) @name .)) .))) @site
             . (return_statement (expression_list . (_) @value .)))
            """,
        "call": "(call_expression arguments: (argument_list (interpreted_string_literal) @name)) @site @value",
    },
    sharing="folder",
    constructors="init",
)

JAVA = ValueSyntax(
    Reading(),
    {
        "binding": """
            (variable_declarator name: (_) @name value: (_) @value) @site
            (assignment_expression left: (_) @name right: (_) @value) @site
            """,
        "member": "(enum_constant name: (_) @name) @site @value",
        "call": "(method_invocation arguments: (argument_list . (string_literal) @name)) @site @value",
        "fallback": "(ternary_expression) @site @value",
    },
    sharing="package",
    members_are_bare=True,
)

RUST = ValueSyntax(
    Reading(),
    {
        "binding": """
            (const_item name: (_) @name value: (_) @value) @site
            (static_item name: (_) @name value: (_) @value) @site
            (let_declaration pattern: (_) @name value: (_) @value) @site
            (assignment_expression left: (_) @name right: (_) @value) @site
            ((function_item name: (identifier) @name body: (block . (_) @value .)) @site (#match? @name "default"))
            """,
        "entry": "(field_initializer field: (_) @name value: (_) @value) @site",
        "member": "(enum_variant name: (_) @name) @site @value",
        "fallback": """
            (call_expression function: (field_expression field: (field_identifier) @called)
             (#any-of? @called "unwrap_or" "unwrap_or_else")) @site @value
            """,
        "call": """
            (call_expression function: (field_expression field: (field_identifier) @name)
             (#any-of? @name "default_value" "default_value_t" "default_missing_value")) @site @value
            """,
        "mark": "(attribute_item (attribute (identifier) arguments: (token_tree))) @site @value",
    },
    constructors="new default with_defaults",
)

C = ValueSyntax(Reading(), _C, sharing="include")

CPP = ValueSyntax(
    Reading(),
    {
        **_C,
        "binding": f"""{_C["binding"]}
            (field_declaration declarator: (_) @name default_value: (_) @value) @site
            (field_initializer (field_identifier) @name (_) @value) @site
            """,
        "parameter": "(optional_parameter_declaration declarator: (_) @name default_value: (_) @value) @site",
    },
    sharing="include",
    members_are_bare=True,
)

C_SHARP = ValueSyntax(
    Reading(fallbacks=frozenset({"??"})),
    {
        "binding": """
            (variable_declarator name: (_) @name (_) @value) @site
            (property_declaration name: (_) @name value: (_) @value) @site
            (assignment_expression left: (_) @name right: (_) @value) @site
            """,
        "parameter": "(parameter name: (_) @name . (_) @value) @site",
        "member": "(enum_member_declaration name: (_) @name) @site @value",
        "fallback": '(binary_expression operator: "??") @site @value (conditional_expression) @site @value',
    },
    sharing="package",
    members_are_bare=True,
)

RUBY = ValueSyntax(
    Reading(hash_comments=True, fallbacks=frozenset({"||"})),
    {
        "binding": """
            (assignment left: (_) @name right: (_) @value) @site
            (operator_assignment left: (_) @name operator: "||=" right: (_) @value) @site
            """,
        "parameter": """
            (optional_parameter name: (_) @name value: (_) @value) @site
            (keyword_parameter name: (_) @name value: (_) @value) @site
            """,
        "entry": "(pair key: (_) @name value: (_) @value) @site",
        "call": "(call arguments: (argument_list . [(string) (simple_symbol)] @name)) @site @value",
        "fallback": '(binary operator: "||") @site @value',
    },
    sharing="all",
    members_are_bare=True,
    constructors="initialize",
)

PHP = ValueSyntax(
    Reading(hash_comments=False, fallbacks=frozenset({"??", "?:"})),
    {
        "binding": """
            (const_element (name) @name (_) @value) @site
            (property_element name: (_) @name default_value: (_) @value) @site
            (assignment_expression left: (_) @name right: (_) @value) @site
            """,
        "parameter": """
            (simple_parameter name: (_) @name default_value: (_) @value) @site
            (property_promotion_parameter name: (_) @name default_value: (_) @value) @site
            """,
        "entry": "(array_element_initializer . (_) @name . (_) @value) @site",
        "fallback": '(binary_expression operator: "??") @site @value',
    },
    sharing="all",
    constructors="__construct",
)

KOTLIN = ValueSyntax(
    Reading(fallbacks=frozenset({"?:"})),
    {
        "binding": """
            (property_declaration (variable_declaration (identifier) @name) (_) @value .) @site
            (assignment left: (_) @name right: (_) @value) @site
            """,
        "parameter": """
            (class_parameter (identifier) @name (_) (_) @value .) @site
            (function_value_parameters (parameter (identifier) @name) . (_) @value) @site
            """,
        "member": "(enum_entry (identifier) @name) @site @value",
        "fallback": '(binary_expression operator: "?:") @site @value',
    },
    sharing="package",
    members_are_bare=True,
    constructors="init",
)
