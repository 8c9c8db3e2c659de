"""Lists what well-known functions and methods of Python return, for those that depend on no overload."""

from __future__ import annotations

from collections.abc import Mapping

from actors.capabilities.violation_fix.refactoring.annotations.types import (
    BOOL,
    BYTES,
    FLOAT,
    INT,
    NONE,
    STR,
    Type,
    union,
)

# Stand for the first and the second argument of the type that a method is called on.
FIRST, SECOND = Type("@0"), Type("@1")
ANY = Type("typing.Any")


def _list(of: Type) -> Type:
    return Type("list", (of,))


def _methods(table: Mapping[Type, str]) -> dict[str, Type]:
    return {name: result for result, names in table.items() for name in names.split()}


_MATCH = Type("re.Match", (STR,))
_PATH = Type("pathlib.Path")
_TEXT_METHODS = "isalnum isalpha isascii isdigit isidentifier islower isnumeric isspace isupper startswith endswith"
_SET = Type("set", (FIRST,))
_URL_PARTS = _methods(
    {
        STR: "scheme netloc path query fragment",
        union([STR, NONE]): "username password hostname",
        union([INT, NONE]): "port",
    }
)

METHODS: Mapping[str, Mapping[str, Type]] = {
    "str": _methods(
        {
            STR: "capitalize casefold center expandtabs format format_map join ljust lower lstrip removeprefix "
            "removesuffix replace rjust rstrip strip swapcase title translate upper zfill",
            BOOL: f"{_TEXT_METHODS} isdecimal isprintable istitle",
            INT: "count find index rfind rindex",
            _list(STR): "split rsplit splitlines",
            Type("tuple", (STR, STR, STR)): "partition rpartition",
            BYTES: "encode",
        }
    ),
    "bytes": _methods(
        {
            BYTES: "capitalize join lower lstrip replace rstrip strip upper ljust rjust removeprefix removesuffix",
            BOOL: _TEXT_METHODS,
            INT: "count find index rfind rindex",
            _list(BYTES): "split rsplit splitlines",
            Type("tuple", (BYTES, BYTES, BYTES)): "partition rpartition",
            STR: "decode hex",
        }
    ),
    "int": _methods({INT: "bit_length bit_count", BYTES: "to_bytes"}),
    "list": _methods({FIRST: "pop", INT: "index count", _list(FIRST): "copy"}),
    "collections.deque": _methods({FIRST: "pop popleft", INT: "index count"}),
    "set": _methods({FIRST: "pop", BOOL: "issubset issuperset isdisjoint", _SET: "copy difference intersection"}),
    "dict": {
        "items": Type("typing.ItemsView", (FIRST, SECOND)),
        "keys": Type("typing.KeysView", (FIRST,)),
        "values": Type("typing.ValuesView", (SECOND,)),
        "setdefault": SECOND,
        "copy": Type("dict", (FIRST, SECOND)),
        "popitem": Type("tuple", (FIRST, SECOND)),
    },
    "typing.TextIO": _methods({STR: "read readline", _list(STR): "readlines", INT: "write tell seek fileno"}),
    "typing.BinaryIO": _methods({BYTES: "read readline", _list(BYTES): "readlines", INT: "write tell seek fileno"}),
    "io.StringIO": _methods({STR: "getvalue read readline", INT: "write tell seek"}),
    "re.Pattern": {
        **_methods({union([_MATCH, NONE]): "match search fullmatch", STR: "sub"}),
        "finditer": Type("typing.Iterator", (_MATCH,)),
    },
    "re.Match": _methods({STR: "group expand", INT: "start end", Type("tuple", (INT, INT)): "span"}),
    "pathlib.Path": _methods(
        {
            _PATH: "absolute expanduser joinpath rename replace resolve with_name with_suffix",
            BOOL: "exists is_dir is_file is_symlink is_absolute",
            STR: "read_text as_posix as_uri",
            BYTES: "read_bytes",
            Type("typing.Iterator", (_PATH,)): "glob rglob iterdir",
        }
    ),
}
ATTRIBUTES: Mapping[str, Mapping[str, Type]] = {
    "pathlib.Path": _methods({STR: "name stem suffix", _PATH: "parent", Type("tuple", (STR, Type("..."))): "parts"}),
    "re.Match": _methods({STR: "string"}),
    "re.Pattern": _methods({STR: "pattern"}),
    "urllib.parse.ParseResult": {**_URL_PARTS, "params": STR},
    "urllib.parse.SplitResult": _URL_PARTS,
}
# Classes whose instances have no type argument: a call gives one.
CLASSES = frozenset(
    {
        *("str", "int", "float", "bool", "bytes", "bytearray", "complex", "pathlib.Path", "pathlib.PurePath"),
        *("io.StringIO", "io.BytesIO", "datetime.date", "datetime.datetime", "datetime.time", "datetime.timedelta"),
        *("decimal.Decimal", "fractions.Fraction", "uuid.UUID", "random.Random", "threading.Event", "threading.Thread"),
        *("argparse.ArgumentParser", "configparser.ConfigParser"),
    }
)
FUNCTIONS: Mapping[str, Type] = {
    **_methods(
        {
            INT: "len ord hash id os.getpid",
            STR: "repr chr input ascii format hex oct bin textwrap.dedent textwrap.indent textwrap.fill os.getcwd "
            "locale.setlocale inspect.getsource inspect.cleandoc",
            BOOL: "isinstance issubclass callable hasattr any all os.path.exists os.path.isdir os.path.isfile "
            "os.path.islink os.path.isabs os.access",
            FLOAT: "time.time time.monotonic time.perf_counter",
            Type("range"): "range",
            Type("logging.Logger"): "logging.getLogger",
            Type("asyncio.AbstractEventLoop"): "asyncio.get_running_loop asyncio.new_event_loop",
            Type("inspect.Signature"): "inspect.signature",
            ANY: "json.loads json.load",
            union([Type("ipaddress.IPv4Address"), Type("ipaddress.IPv6Address")]): "ipaddress.ip_address",
            _list(STR): "textwrap.wrap shlex.split",
        }
    ),
}
# Functions that return what their first argument is, a text.
TEXT_FUNCTIONS: Mapping[str, Type] = _methods(
    {
        STR: "os.path.join os.path.dirname os.path.basename os.path.abspath os.path.realpath os.path.normpath "
        "os.path.expanduser os.path.expandvars os.path.relpath os.path.normcase re.escape re.sub",
        Type("tuple", (STR, STR)): "os.path.split os.path.splitext",
        _list(STR): "os.listdir",
        Type("urllib.parse.ParseResult"): "urllib.parse.urlparse",
        Type("urllib.parse.SplitResult"): "urllib.parse.urlsplit",
        union([_MATCH, NONE]): "re.match re.search re.fullmatch",
        Type("typing.Iterator", (_MATCH,)): "re.finditer",
        Type("re.Pattern", (STR,)): "re.compile",
        Type("typing.Iterator", (Type("tuple", (STR, _list(STR), _list(STR))),)): "os.walk",
    }
)


def filled(template: Type, arguments: tuple[Type, ...]) -> Type | None:
    """Put type arguments in the place of those that a result stands for; None where they are not known."""
    if template.name.startswith("@"):
        position = int(template.name[1:])
        return arguments[position] if position < len(arguments) else None
    inner = [filled(argument, arguments) for argument in template.arguments]
    known = tuple(each for each in inner if each is not None)
    return Type(template.name, known) if len(known) == len(inner) else None
