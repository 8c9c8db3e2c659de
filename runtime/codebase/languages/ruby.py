"""Declares Ruby."""

from __future__ import annotations

from runtime.codebase.language_facts import value_queries
from runtime.codebase.language_parts.head_comments import first_hashes
from runtime.codebase.language_parts.idle_statements import TEXT, IdleSyntax
from runtime.codebase.language_parts.language import Grammar, Language
from runtime.codebase.language_parts.repository_paths import RepositoryPaths

_TAGS = """
(assignment left: (constant) @name) @definition.constant
(superclass (constant) @name) @reference.base
(call method: (identifier) @_require arguments: (argument_list (string (string_content) @import))
  (#match? @_require "^require"))
"""

_BUILTIN_METHODS = """
    all? any? append assoc at between? bytes bytesize call capitalize ceil center chars chomp chomp! chop chr clamp
    clear close closed? coerce collect collect! combination compact compact! concat count cycle default delete
    delete! delete_at delete_if detect dig div divmod downcase downcase! drop drop_while dup each each_char
    each_cons each_entry each_key each_line each_pair each_slice each_value each_with_index each_with_object empty?
    encode encoding end_with? eql? equal? even? except extend fdiv fetch fetch_values fileno fill filter filter!
    filter_map find find_all find_index first flat_map flatten flatten! flock floor flush force_encoding format
    freeze frozen? getbyte getc gets group_by gsub gsub! has_key? has_value? hash include? index inject insert
    inspect instance_of? intersect? invert is_a? join keep_if key key? keys kind_of? last lazy length lines ljust
    lock lstrip lstrip! map map! match match? max max_by member? merge merge! message min min_by minmax modulo name
    next nil? none? nonzero? object_id odd? one? open ord pack partition path pop positive? product push puts read
    read_nonblock readline readlines reduce reject reject! replace respond_to? reverse reverse! reverse_each rewind
    rindex rjust rotate round rstrip rstrip! sample scan seek select select! shift shuffle size skip slice slice!
    sort sort! sort_by sort_by! split squeeze start_with? strip strip! sub sub! succ sum swapcase sync synchronize
    take take_while tap tell then times to_a to_ary to_enum to_f to_h to_hash to_i to_json to_proc to_r to_s to_str
    to_sym tr transform_keys transform_keys! transform_values transform_values! transpose truncate uniq uniq! unlock
    unpack unshift upcase upcase! update upto valid_encoding? value? values values_at write write_nonblock zero? zip
"""


def _required_file(repository: RepositoryPaths, importer: str, module: str, _name: str) -> str | None:
    tail = module if module.endswith(".rb") else module + ".rb"
    beside = repository.beside(importer, tail)
    return beside if beside in repository.paths else repository.ending("lib/" + tail.lstrip("./"), importer)


_GENERAL = r"(?:StandardError|RuntimeError|ArgumentError|Exception)"
_RAISED = rf"{TEXT}|{_GENERAL}(?:\.new(?:\(\s*(?:{TEXT})?\s*\))?|\s*,\s*{TEXT})?"
_IDLE = IdleSyntax(
    absent=frozenset({"nil"}),
    fails=rf"(?:raise|fail)\b\s*\(?\s*(?:{_RAISED})?\s*\)?",
    nothing_value=r"(?:Hash|Array|String|Object)\.new|%[wi]\[\s*\]|nil\.to_[ash]",
    gives_way=r"sleep\s*\(?\s*0\s*\)?|Thread\.pass",
    iterators=r"each|each_with_index|each_pair|each_key|each_value|times|loop|map|tap|then|upto|downto|step",
    idle_functions=r"\w+\.(?:to_s|to_str|inspect|itself|nil\?|strip|downcase|upcase)",
    assigns_locals=True,
    imports=r"require(?:_relative)?\s*\(?\s*(?:\"[^\"#]*\"|'[^']*')\s*\)?",
    names_call=True,
    value_bodies=frozenset({"method", "singleton_method", "lambda"}),
)

LANGUAGES = (
    Language(
        name="ruby",
        declares_test=r"\s*(?:it|test|specify|scenario|should)\s+(?P<quote>[\"'])(?P<title>.{8,200}?)(?P=quote)",
        ecosystem="rubygems",
        idle=_IDLE,
        values=value_queries.RUBY,
        extensions="rb rake gemspec ru",
        file_names="rakefile gemfile",
        interpreters="ruby",
        path_kinds=(("test", r"(^|/)test[_-][^/]*\.rb$|_tests?\.rb$|_spec\.rb$"),),
        code_extensions="rb",
        grammar=Grammar("tree_sitter_ruby"),
        tags=_TAGS,
        head_doc=first_hashes,
        resolve_import=_required_file,
        builtin_methods=frozenset(_BUILTIN_METHODS.split()),
        own_object="self self.class",
        branch_words="elsif unless case when rescue",
        failures=(r"\braise\b",),
    ),
)
