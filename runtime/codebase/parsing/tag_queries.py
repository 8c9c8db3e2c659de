"""What the grammars' own tags queries leave out, as further patterns for each language.

Captures: `@name` with `@definition.KIND` or `@reference.call`, `@reference.class`; `@owner` names what a definition
belongs to when nesting does not tell (a Go receiver, a C++ qualifier); `@scope` with `@scope.name` is a block that
gives its members a parent without being a symbol (a Rust `impl`); `@import` is the text of what is imported. Where a
definition is matched twice the later pattern wins, so these refine the kinds of the bundled ones.
"""

from __future__ import annotations

_ECMASCRIPT = """
(method_definition name: [(property_identifier) (private_property_identifier)] @name) @definition.method
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @definition.function
(assignment_expression
  left: (member_expression object: [(identifier) (member_expression)] @owner property: (property_identifier) @name)
  right: [(arrow_function) (function_expression) (generator_function)]) @definition.function
(assignment_expression
  left: [(identifier) @name (member_expression property: (property_identifier) @name)]
  right: (class)) @definition.class
(program (lexical_declaration
  (variable_declarator name: (identifier) @name value: [(call_expression) (object) (array) (string) (number)
    (new_expression) (template_string) (regex) (identifier) (member_expression)]) @definition.constant))
(program (variable_declaration
  (variable_declarator name: (identifier) @name value: [(object) (array) (string) (number) (new_expression) (regex)
    (call_expression)]) @definition.variable))
(export_statement (lexical_declaration
  (variable_declarator name: (identifier) @name value: [(call_expression) (object) (array) (string) (number)
    (new_expression) (template_string) (regex) (as_clause)]) @definition.constant))
(import_statement source: (string) @import)
(export_statement source: (string) @import)
(call_expression function: (identifier) @_require arguments: (arguments . (string) @import)
  (#eq? @_require "require"))
(call_expression function: (import) arguments: (arguments . (string) @import))
(call_expression function: (member_expression property: (property_identifier) @name)) @reference.call
""".replace(" (as_clause)", "")

_TYPESCRIPT = (
    """
(function_declaration name: (identifier) @name) @definition.function
(generator_function_declaration name: (identifier) @name) @definition.function
(function_signature name: (identifier) @name) @definition.function
(class_declaration name: (type_identifier) @name) @definition.class
(abstract_class_declaration name: (type_identifier) @name) @definition.class
(interface_declaration name: (type_identifier) @name) @definition.interface
(type_alias_declaration name: (type_identifier) @name) @definition.type
(enum_declaration name: (identifier) @name) @definition.enum
(internal_module name: (identifier) @name) @definition.namespace
(module name: (identifier) @name) @definition.namespace
(method_signature name: (property_identifier) @name) @definition.method
(abstract_method_signature name: (property_identifier) @name) @definition.method
(public_field_definition name: (property_identifier) @name) @definition.field
(interface_body (property_signature name: (property_identifier) @name) @definition.field)
(public_field_definition name: (property_identifier) @name
  value: [(arrow_function) (function_expression)]) @definition.method
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @definition.function
(call_expression function: (identifier) @name) @reference.call
(new_expression constructor: (identifier) @name) @reference.class
(class_heritage (extends_clause value: (identifier) @name)) @reference.base
(implements_clause (type_identifier) @name) @reference.base
(extends_type_clause (type_identifier) @name) @reference.base
"""
    + _ECMASCRIPT
)

_JAVASCRIPT = (
    """
(class_heritage (identifier) @name) @reference.base
"""
    + _ECMASCRIPT
)

_GO = """
(method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @owner
    (pointer_type (type_identifier) @owner)
    (generic_type type: (type_identifier) @owner)
    (pointer_type (generic_type type: (type_identifier) @owner))]))
  name: (field_identifier) @name) @definition.method
(type_spec name: (type_identifier) @name type: (struct_type)) @definition.struct
(type_spec name: (type_identifier) @name type: (interface_type)) @definition.interface
(method_elem name: (field_identifier) @name) @definition.method
(field_declaration name: (field_identifier) @name) @definition.field
(source_file (const_declaration (const_spec name: (identifier) @name) @definition.constant))
(source_file (var_declaration (var_spec name: (identifier) @name) @definition.variable))
(source_file (var_declaration (var_spec_list (var_spec name: (identifier) @name) @definition.variable)))
(import_spec path: (_) @import)
"""

_RUST = """
(struct_item name: (type_identifier) @name) @definition.struct
(enum_item name: (type_identifier) @name) @definition.enum
(type_item name: (type_identifier) @name) @definition.type
(field_declaration name: (field_identifier) @name) @definition.field
(trait_item name: (type_identifier) @name) @definition.trait
(function_signature_item name: (identifier) @name) @definition.method
(source_file (const_item name: (identifier) @name) @definition.constant)
(source_file (static_item name: (identifier) @name) @definition.constant)
(impl_item type: (type_identifier) @scope.name) @scope
(impl_item type: (generic_type type: (type_identifier) @scope.name)) @scope
(call_expression function: (scoped_identifier name: (identifier) @name)) @reference.call
(struct_expression name: (type_identifier) @name) @reference.class
(use_declaration argument: (_) @import)
(mod_item name: (identifier) @import !body)
"""

_JAVA = """
(constructor_declaration name: (identifier) @name) @definition.constructor
(enum_declaration name: (identifier) @name) @definition.enum
(record_declaration name: (identifier) @name) @definition.record
(annotation_type_declaration name: (identifier) @name) @definition.interface
(field_declaration declarator: (variable_declarator name: (identifier) @name)) @definition.field
(object_creation_expression type: (generic_type (type_identifier) @name)) @reference.class
(superclass (generic_type (type_identifier) @name)) @reference.base
(superclass (type_identifier) @name) @reference.base
(type_list (generic_type (type_identifier) @name)) @reference.base
(import_declaration (scoped_identifier) @import)
"""

_C = """
(struct_specifier name: (type_identifier) @name body: (_)) @definition.struct
(enum_specifier name: (type_identifier) @name body: (_)) @definition.enum
(field_declaration declarator: (field_identifier) @name) @definition.field
(field_declaration declarator: (pointer_declarator declarator: (field_identifier) @name)) @definition.field
(preproc_def name: (identifier) @name) @definition.constant
(preproc_function_def name: (identifier) @name) @definition.macro
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @name)) @definition.variable)
(translation_unit (declaration
  declarator: (init_declarator declarator: (array_declarator declarator: (identifier) @name))) @definition.variable)
(call_expression function: (identifier) @name) @reference.call
(call_expression function: (field_expression field: (field_identifier) @name)) @reference.call
(preproc_include path: (_) @import)
"""

_CPP = (
    _C
    + """
(function_declarator declarator: (qualified_identifier scope: (_) @owner name: (identifier) @name)) @definition.method
(function_declarator declarator: (field_identifier) @name) @definition.method
(namespace_definition name: (namespace_identifier) @scope.name) @scope
(call_expression function: (qualified_identifier name: (identifier) @name)) @reference.call
(base_class_clause (type_identifier) @name) @reference.base
(class_specifier name: (type_identifier) @name body: (_)) @definition.class
"""
)

_RUBY = """
(assignment left: (constant) @name) @definition.constant
(superclass (constant) @name) @reference.base
(call method: (identifier) @_require arguments: (argument_list (string (string_content) @import))
  (#match? @_require "^require"))
"""

_PHP = """
(enum_declaration name: (name) @name) @definition.enum
(trait_declaration name: (name) @name) @definition.trait
(const_element (name) @name) @definition.constant
(function_call_expression function: (name) @name) @reference.call
(object_creation_expression (name) @name) @reference.class
(base_clause (name) @name) @reference.base
(method_declaration name: (name) @name) @definition.method
(property_declaration (property_element (variable_name (name) @name))) @definition.property
(namespace_use_clause (qualified_name) @import)
"""

_C_SHARP = """
(class_declaration name: (identifier) @name) @definition.class
(interface_declaration name: (identifier) @name) @definition.interface
(struct_declaration name: (identifier) @name) @definition.struct
(record_declaration name: (identifier) @name) @definition.record
(enum_declaration name: (identifier) @name) @definition.enum
(delegate_declaration name: (identifier) @name) @definition.type
(method_declaration name: (identifier) @name) @definition.method
(constructor_declaration name: (identifier) @name) @definition.constructor
(property_declaration name: (identifier) @name) @definition.property
(field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @definition.field
(namespace_declaration name: (_) @scope.name) @scope
(invocation_expression function: (identifier) @name) @reference.call
(invocation_expression function: (member_access_expression name: (identifier) @name)) @reference.call
(object_creation_expression type: (identifier) @name) @reference.class
(base_list (identifier) @name) @reference.base
(using_directive (qualified_name) @import)
(using_directive (identifier) @import)
"""

_KOTLIN = """
(class_declaration name: (identifier) @name) @definition.class
(class_declaration "interface" name: (identifier) @name) @definition.interface
(class_declaration (modifiers (class_modifier) @_enum) name: (identifier) @name (#eq? @_enum "enum")) @definition.enum
(object_declaration name: (identifier) @name) @definition.object
(companion_object name: (identifier) @name) @definition.object
(type_alias type: (identifier) @name) @definition.type
(function_declaration name: (identifier) @name) @definition.function
(class_body (property_declaration (variable_declaration (identifier) @name)) @definition.property)
(source_file (property_declaration (variable_declaration (identifier) @name)) @definition.constant)
(call_expression . (identifier) @name) @reference.call
(call_expression . (navigation_expression (identifier) @name .)) @reference.call
(delegation_specifier (user_type (identifier) @name)) @reference.base
(delegation_specifier (constructor_invocation (user_type (identifier) @name))) @reference.base
(import (qualified_identifier) @import)
"""

_SHELL = """
(function_definition name: (word) @name) @definition.function
(program (variable_assignment name: (variable_name) @name) @definition.variable)
(program (declaration_command (variable_assignment name: (variable_name) @name) @definition.constant))
(command name: (command_name (word) @name)) @reference.call
(command name: (command_name) @_source argument: (word) @import (#any-of? @_source "source" "."))
(command name: (command_name) @_source argument: (string) @import (#any-of? @_source "source" "."))
"""

EXTRA_QUERIES: dict[str, str] = {
    "javascript": _JAVASCRIPT,
    "typescript": _TYPESCRIPT,
    "tsx": _TYPESCRIPT,
    "go": _GO,
    "rust": _RUST,
    "java": _JAVA,
    "c": _C,
    "cpp": _CPP,
    "ruby": _RUBY,
    "php": _PHP,
    "c_sharp": _C_SHARP,
    "kotlin": _KOTLIN,
    "shell": _SHELL,
}
