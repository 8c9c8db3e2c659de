"""Declares Rust."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from runtime.codebase.language_facts import value_queries
from runtime.codebase.language_facts.rust_facts import rust_facts
from runtime.codebase.language_parts.head_comments import HeadDoc, block, run_end, told
from runtime.codebase.language_parts.idle_statements import IdleSyntax
from runtime.codebase.language_parts.language import Grammar, Language
from runtime.codebase.language_parts.repository_paths import RepositoryPaths
from runtime.codebase.language_parts.type_rules import TypeRules

_TAGS = """
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
(extern_crate_declaration name: (identifier) @import)
"""

_BUILTIN_METHODS = """
    abs all and_then any append as_bool as_bytes as_deref as_mut as_path as_ref as_slice as_str as_u64 await
    binary_search borrow borrow_mut by_ref bytes ceil chain char_indices chars checked_add checked_sub chunks clear
    clone clone_from cloned cmp collect components concat contains contains_key copied copy count cycle dedup
    default deref deref_mut display drain drop elapsed ends_with entry enumerate eq err exists expect extend
    extend_from_slice extension file_name file_stem fill filter filter_map find first flat_map flatten floor flush
    fmt fold for_each from from_str from_utf8 ge get get_mut get_or_insert_with get_ref gt hash insert inspect into
    into_bytes into_inner into_iter into_string is_absolute is_dir is_empty is_err is_file is_none is_ok is_some
    iter iter_mut join keys last last_mut le len lines lock lt map map_err map_or map_or_else max max_by max_by_key
    metadata min min_by min_by_key name ne next next_back nth ok ok_or ok_or_else open or or_else or_insert
    or_insert_with parent parse partial_cmp partition path peek peekable poll pop pos position pow powf product push
    push_str read read_dir read_exact read_line read_to_end read_to_string reduce remove repeat replace reserve
    resize retain rev rfind rposition rsplit rsplit_once saturating_sub seek set set_len skip skip_while sort
    sort_by sort_by_key sort_unstable split split_at split_off split_once split_whitespace splitn sqrt starts_with
    stderr stdin stdout step_by strip_prefix strip_suffix sub_assign sum swap take take_while then then_some
    to_ascii_lowercase to_lowercase to_owned to_path_buf to_str to_string to_string_lossy to_uppercase to_vec trim
    trim_end trim_matches trim_start truncate try_from try_into try_lock unwrap unwrap_err unwrap_or
    unwrap_or_default unwrap_or_else unzip values values_mut wait windows with_capacity wrapping_add write write_all
    write_fmt write_str zip
"""

_CRATE_ROOTS = ("lib.rs", "main.rs")
_EDITION = re.compile(r"^\s*edition\b", re.MULTILINE)


def _inner_comment(head: Sequence[str]) -> HeadDoc | None:
    """Return the first run of `//!`, or the first `/*!`."""
    for number, line in enumerate(head):
        if line.startswith("//!"):
            end = run_end(head, number, "//!")
            return told(head, number, end, lambda line: line.removeprefix("//!"))
        if line.startswith("/*!"):
            return block(head, number)
    return None


def _module_file(repository: RepositoryPaths, importer: str, module: str, _name: str) -> str | None:
    """Return a module's file by its path from the crate root, the parent module or the importing module.

    A path that begins at none of them begins at the crate root in Rust 2015, or with a crate of the repository.
    """
    folder = posixpath.dirname(importer)
    parts = [part for part in module.split("{")[0].split("::") if part]
    stem = posixpath.splitext(posixpath.basename(importer))[0]
    own = folder if stem in ("mod", "lib", "main") else posixpath.join(folder, stem)
    if parts and parts[0] == "crate":
        base, parts = _crate_root(repository, folder), parts[1:]
    elif parts and parts[0] == "super":
        base, parts = posixpath.dirname(own), parts[1:]
    elif parts and parts[0] == "self":
        base, parts = own, parts[1:]
    elif not parts:
        return None
    else:
        within = _within(repository, own, parts[:1]) and _within(repository, own, parts)
        if within is None and repository.is_rooted("rust", importer):
            within = _within(repository, _crate_root(repository, folder), parts)
        return within or _of_crate(repository, parts)
    return _within(repository, base, parts)


def _within(repository: RepositoryPaths, base: str, parts: Sequence[str]) -> str | None:
    """Return the file of the longest path below a folder that is a module."""
    for count in range(len(parts), 0, -1):
        at = posixpath.join(base, *parts[:count])
        found = repository.first((at + ".rs", at + "/mod.rs"))
        if found:
            return found
    return None


def _of_crate(repository: RepositoryPaths, parts: Sequence[str]) -> str | None:
    """Return the file of a module in a library of the repository that the path begins with, or else its root."""
    for folder, declared in repository.declared_modules.get("rust", {}).items():
        source = posixpath.join(folder, "src")
        root = f"{source}/lib.rs"
        if declared.replace("-", "_") == parts[0] and root in repository.paths:
            return _within(repository, source, parts[1:]) or root
    return None


def _is_of_2015(text: str) -> bool:
    """Return whether the text of a Cargo.toml declares a package without an edition."""
    return re.search(r"^\s*\[package\]", text, re.MULTILINE) is not None and _EDITION.search(text) is None


def _crate_root(repository: RepositoryPaths, folder: str) -> str:
    while folder and not any(posixpath.join(folder, name) in repository.paths for name in _CRATE_ROOTS):
        folder = posixpath.dirname(folder)
    return folder


_PRELUDE = """
    Option Some None Result Ok Err Vec String Box Rc Arc ToString ToOwned Into From Clone Copy Send Sync Sized Drop Fn
    FnMut FnOnce Iterator IntoIterator Extend DoubleEndedIterator ExactSizeIterator Default PartialEq Eq PartialOrd Ord
    AsRef AsMut drop tuple str bool char u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64
"""
_HOLDERS = (
    *("Option", "Result", "Vec", "VecDeque", "HashSet", "BTreeSet", "IndexSet", "SmallVec", "list", "Mutex", "RwLock"),
    *("RefCell", "Cell", "OnceCell", "OnceLock", "Iterator", "IntoIterator", "LazyLock", "Lazy"),
)

_TYPE_RULES = TypeRules(
    extract=rust_facts,
    imports="path",
    sees_class_names=False,
    unbound_is_external=True,
    constructs_by_call=False,
    own_type=frozenset({"Self"}),
    transparent=frozenset(
        {"Box", "Arc", "Rc", "Pin", "Ref", "RefMut", "MutexGuard", "RwLockReadGuard", "RwLockWriteGuard"}
    ),
    awaited=frozenset({"Awaitable"}),
    elements=dict.fromkeys(_HOLDERS, 0),
    indexed=dict.fromkeys(("Vec", "VecDeque", "list", "SmallVec"), 0) | {"HashMap": 1, "BTreeMap": 1, "IndexMap": 1},
    element_methods=dict.fromkeys(
        ("unwrap", "expect", "unwrap_or", "unwrap_or_default", "unwrap_or_else", "borrow", "borrow_mut", "swap_remove"),
        0,
    ),
    collection_methods={
        **dict.fromkeys(("get", "get_mut", "remove", "values", "values_mut", "into_values"), -1),
        **dict.fromkeys(
            ("iter", "iter_mut", "into_iter", "as_ref", "as_mut", "first", "last", "pop", "clone", "take"), 0
        ),
        **dict.fromkeys(
            ("pop_front", "pop_back", "front", "back", "lock", "read", "write", "ok", "map_err", "next"), 0
        ),
        **dict.fromkeys(("as_deref", "as_deref_mut", "rev", "skip", "filter", "first_mut", "last_mut", "ok_or"), 0),
    },
)

_CONSTANT = r'"[^"{}]*"'
_OWNED = r"(?:\.(?:to_string|to_owned|into)\(\))?"
_MADE = rf"(?:{_CONSTANT}{_OWNED}|String::from\({_CONSTANT}\)|(?:anyhow::)?(?:format|anyhow)!\({_CONSTANT}\))"
_IDLE = IdleSyntax(
    absent=frozenset({"None"}),
    fails=rf"(?:(?:core|std)::)?(?:panic|bail)!\(\s*(?:{_CONSTANT}|\"[^\"]*\"(?:\s*,\s*{_CONSTANT})+)?\s*\)",
    failed_value=rf"Err\(\s*(?:(?:Box::from\()?{_MADE}\)?|\(\))\s*\)",
    wrapped=r"(?:Ok|Some)\(\s*([^()]+|[\w:<>]+\(\)|\(\))\s*\)",
    nothing_value=r"(?:Vec|HashMap|HashSet|BTreeMap)::<[\w:<>, ]+>::new\(\)"
    r"|(?:std::)?iter::empty(?:::<[\w:<>, ]+>)?\(\)|Box::new\(\s*(?:Default::default\(\)|\(\))\s*\)",
    nothing=r"use\s+[\w:{}*,\s]+|extern\s+crate\s+\w+|(?:debug_)?assert_eq!\(\s*(?P<same>[\w.]+)\s*,\s*(?P=same)\s*\)|(?:debug_)?assert!\(\s*true\s*\)|\(\|[\w,\s]*\|\s*(?:\{\s*\}|\(\))\s*\)\(\)|(?:(?:std|core)::)?mem::(?:drop|forget)\([\w.]+\)"
    r"|async\s*\{\s*\}\s*\.await",
    idle_functions=r"String::from|Some|Box::new|(?:(?:std|core)::)?hint::black_box|black_box|[\w.]+\.(?:to_string|to_owned|clone|len|is_empty"
    r"|as_ref|as_str|trim)",
    pure_calls=r"(?:format|vec)!\s*[(\[](?:\"[^\"]*\"|[\w\s,.&])*[)\]]",
    gives_way=r"(?:(?:std|core)::)?(?:thread::yield_now\(\)|hint::spin_loop\(\))|(?:tokio::)?(?:task::)?yield_now\(\)\.await",
    never_returns=r"->\s*!",
    value_bodies=frozenset({"function_item", "closure_expression"}),
)

LANGUAGES = (
    Language(
        name="rust",
        ecosystem="crates",
        idle=_IDLE,
        test_prefix="test_",
        extensions="rs",
        code_extensions="rs",
        head_files="lib.rs main.rs",
        grammar=Grammar("tree_sitter_rust"),
        tags=_TAGS,
        head_doc=_inner_comment,
        resolve_import=_module_file,
        builtin_methods=frozenset(_BUILTIN_METHODS.split()),
        types=_TYPE_RULES,
        values=value_queries.RUST,
        module_declaration=("Cargo.toml", re.compile(r'^\s*name\s*=\s*"([^"]+)"', re.MULTILINE)),
        begins_paths_at_root=_is_of_2015,
        own_object="self Self",
        branch_words="match",
        failures=(r"\b(?:panic|bail)!?\b", r"\bErr\(", r"\b[A-Z]\w*::Error\("),
    ),
)
