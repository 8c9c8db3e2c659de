"""Tells which imports are of a dependency, by how its ecosystem names what is imported.

Packages are published under one name and imported under another. Most are known by a rule; the exceptions of Python,
where the rule fails for some of the most used packages, stand in a table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from runtime.codebase.dependencies.requirement import Ecosystem, Requirement, plain
from runtime.codebase.index.records import ImportRecord

# The published name, plain → the top modules that it brings.
_MODULES: Mapping[str, tuple[str, ...]] = {
    "attrs": ("attr", "attrs"),
    "beautifulsoup4": ("bs4",),
    "biopython": ("Bio",),
    "charset-normalizer": ("charset_normalizer",),
    "discord-py": ("discord",),
    "djangorestframework": ("rest_framework",),
    "dnspython": ("dns",),
    "faiss-cpu": ("faiss",),
    "gitpython": ("git",),
    "google-api-python-client": ("googleapiclient",),
    "grpcio": ("grpc",),
    "intervaltree": ("intervaltree",),
    "markdown-it-py": ("markdown_it",),
    "msgpack-python": ("msgpack",),
    "mysqlclient": ("MySQLdb",),
    "opencv-python": ("cv2",),
    "pillow": ("PIL",),
    "protobuf": ("google.protobuf",),
    "psycopg2-binary": ("psycopg2",),
    "pycryptodome": ("Crypto",),
    "pycryptodomex": ("Cryptodome",),
    "pyjwt": ("jwt",),
    "pymupdf": ("fitz", "pymupdf"),
    "pynacl": ("nacl",),
    "pyopenssl": ("OpenSSL",),
    "pyserial": ("serial",),
    "pysocks": ("socks",),
    "python-dateutil": ("dateutil",),
    "python-docx": ("docx",),
    "python-dotenv": ("dotenv",),
    "python-gnupg": ("gnupg",),
    "python-jose": ("jose",),
    "python-magic": ("magic",),
    "python-multipart": ("multipart", "python_multipart"),
    "python-slugify": ("slugify",),
    "pywin32": ("win32api", "win32con", "win32file", "pywintypes", "win32com"),
    "pyyaml": ("yaml",),
    "pyzmq": ("zmq",),
    "ruamel-yaml": ("ruamel.yaml",),
    "scikit-image": ("skimage",),
    "scikit-learn": ("sklearn",),
    "setuptools": ("setuptools", "pkg_resources"),
    "typing-extensions": ("typing_extensions",),
    "websocket-client": ("websocket",),
}

_SPLIT = re.compile(r"[^A-Za-z0-9]+")


def is_import_of(requirement: Requirement, imported: ImportRecord) -> bool:
    """Return whether an import in a language of the dependency's ecosystem is of that dependency.

    A module of the repository itself is none, however it is called; of C# names alone decide, as its namespaces do.
    """
    if imported.target is not None and requirement.ecosystem not in {"nuget", "system"}:
        return False
    return _RULES[requirement.ecosystem](requirement.name, imported.module)


def module_names(requirement: Requirement) -> tuple[str, ...]:
    """Return what the modules of a Python or Rust dependency are called; empty for others."""
    if requirement.ecosystem == "crates":
        return (requirement.name.replace("-", "_"),)
    if requirement.ecosystem != "pypi":
        return ()
    name = plain(requirement.name)
    return _MODULES.get(name, (name.replace("-", "_"), name.replace("-", ".")))


def _below(module: str, name: str, mark: str) -> bool:
    return module == name or module.startswith(f"{name}{mark}")


def _pypi(name: str, module: str) -> bool:
    known = _MODULES.get(plain(name))
    if known is not None:
        return any(_below(module, each, ".") for each in known)
    low, wanted = module.lower(), plain(name)
    return any(_below(low, wanted.replace("-", mark), ".") for mark in "_.")


def _go(name: str, module: str) -> bool:
    return _below(module, name, "/")


def _crates(name: str, module: str) -> bool:
    return _below(module.removeprefix("::"), name.replace("-", "_"), "::")


def _npm(name: str, module: str) -> bool:
    own = name.removeprefix("@types/")
    return _below(module, own, "/")


def _rubygems(name: str, module: str) -> bool:
    return any(_below(module, each, "/") for each in (name, name.replace("-", "/"), name.replace("-", "_")))


def _composer(name: str, module: str) -> bool:
    """Compare by vendor and package: the namespace `Symfony\\Component\\Console` has both of `symfony/console`."""
    vendor, _, package = name.lower().partition("/")
    parts = [part.lower() for part in module.strip("\\").split("\\")]
    flat = [vendor.replace("-", ""), package.replace("-", "")]
    if parts[0] not in flat:
        return False
    return flat[1] in parts or flat[0] == flat[1] or flat[1].startswith(flat[0])


def _maven(name: str, module: str) -> bool:
    """Compare by the group, which begins the package, or by a word of the artifact that is a part of it."""
    group, _, artifact = name.partition(":")
    parts = module.split(".")
    own = {word for word in _SPLIT.split(artifact) if len(word) > 2} - {"core", "api", "maven", "java", "kotlin", "lib"}
    begins = _below(module, group, ".")
    same_root = parts[:2] == group.split(".")[:2]
    return begins or (same_root and not own.isdisjoint(parts))


def _nuget(name: str, module: str) -> bool:
    return _below(module, name, ".")


def _system(name: str, module: str) -> bool:
    first = re.split(r"[/.]", module.lower(), maxsplit=1)[0]
    return first == name.lower()


_RULES: Mapping[Ecosystem, Callable[[str, str], bool]] = {
    "pypi": _pypi,
    "go": _go,
    "crates": _crates,
    "npm": _npm,
    "composer": _composer,
    "rubygems": _rubygems,
    "maven": _maven,
    "nuget": _nuget,
    "system": _system,
}

_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*")
# `const { a: b } = require('x')`, `import d, { a as b } from 'x'`, `import * as ns from 'x'`.
_BOUND_HERE = re.compile(r"\b(?:const|let|var|import)\s+(?P<bound>[^=;]{1,300}?)\s*(?:=|\bfrom\b)")
_NO_NAMES = frozenset({"as", "type", "typeof", "import", "const", "let", "var"})


def bound_names(ecosystem: Ecosystem, imported: ImportRecord, line: str) -> frozenset[str]:
    """Return the names by which the code of a file speaks of what a line imports; empty where the line tells none.

    For a module these begin a qualified name: `lexers` of `import pygments.lexers as lexers`, `pflag` of Go.
    """
    if imported.alias:
        return frozenset() if imported.alias in {"_", "."} else frozenset({imported.alias})
    if imported.name and imported.name != "*":
        return frozenset({imported.name})
    return _BOUND[ecosystem](imported.module, line)


def _go_bound(module: str, line: str) -> frozenset[str]:
    path = re.sub(r"/v\d+$", "", module).rpartition("/")[2]
    path = re.sub(r"\.v\d+$", "", path)
    return frozenset({path, path.removeprefix("go-"), path.removesuffix("-go").replace("-", "")})


def _npm_bound(module: str, line: str) -> frozenset[str]:
    found = _BOUND_HERE.search(line)
    return frozenset(_IDENTIFIER.findall(found["bound"])) - _NO_NAMES if found is not None else frozenset()


def _last_names(mark: str) -> Callable[[str, str], frozenset[str]]:
    """Return a reader of the last part of a path, or of all names in its braces."""

    def read(module: str, line: str) -> frozenset[str]:
        last = module.rpartition("{")[2].rstrip("}") if "{" in module else module.rpartition(mark)[2]
        return frozenset(_IDENTIFIER.findall(last)) - {"self", "as"}

    return read


def _first_name(module: str, line: str) -> frozenset[str]:
    return frozenset({module.partition(".")[0]})


def _none(module: str, line: str) -> frozenset[str]:
    return frozenset()


_BOUND: Mapping[Ecosystem, Callable[[str, str], frozenset[str]]] = {
    "pypi": _first_name,
    "go": _go_bound,
    "crates": _last_names("::"),
    "npm": _npm_bound,
    "composer": _last_names("\\"),
    "rubygems": _none,
    "maven": _last_names("."),
    "nuget": _none,
    "system": _none,
}
