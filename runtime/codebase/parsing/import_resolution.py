"""Which file of the repository an import means, as far as paths tell.

`ImportResolver(paths).resolve(importer, language, module, name)` gives a path relative to the root, a folder for Go
packages, or None for what lies outside. Nothing is executed and no search path of the machine is consulted.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Mapping

_ECMASCRIPT_EXTENSIONS = ("", ".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".d.ts", ".json", ".vue", ".svelte")
_ECMASCRIPT_ENDINGS = (
    *_ECMASCRIPT_EXTENSIONS,
    *("/index" + ending for ending in (".ts", ".tsx", ".js", ".jsx", ".mjs")),
)
_SOURCE_FOLDERS = ("src/", "lib/", "python/")
_RUST_ROOTS = ("lib.rs", "main.rs")


class ImportResolver:
    """Answers for one set of files.

    `root_name` is the name of the root folder, which is the package's name when the root itself holds an `__init__.py`;
    `go_modules` maps folders with a `go.mod` (empty string for the root) to the module path that it declares.
    """

    def __init__(
        self, paths: Collection[str], root_name: str = "", go_modules: Mapping[str, str] | None = None
    ) -> None:
        self._paths = frozenset(paths)
        self._go_modules = dict(go_modules or {})
        self._folders = frozenset(folder for path in self._paths for folder in _folders_above(path))
        self._dotted_folders: dict[str, list[str]] = {}
        for folder in self._folders:
            parts = folder.replace("/", ".").split(".")
            for start in range(len(parts)):
                self._dotted_folders.setdefault(".".join(parts[start:]), []).append(folder)
        self._by_name: dict[str, list[str]] = {}
        for path in sorted(self._paths):
            self._by_name.setdefault(posixpath.basename(path), []).append(path)
        self._modules = _python_modules(self._paths, root_name)
        self._by_language = {
            "python": self._python,
            "cython": self._python,
            "javascript": self._ecmascript,
            "typescript": self._ecmascript,
            "tsx": self._ecmascript,
            "go": self._go,
            "rust": self._rust,
            "java": self._java,
            "c": self._include,
            "cpp": self._include,
            "ruby": self._ruby,
            "php": self._php,
            "c_sharp": self._c_sharp,
            "kotlin": self._kotlin,
            "shell": self._shell,
        }

    def resolve(self, importer: str, language: str | None, module: str, name: str = "") -> str | None:
        """The file or Go folder that is meant, or None."""
        method = self._by_language.get(language or "")
        return method(importer, module, name) if method is not None else None

    def python_module(self, dotted: str) -> str | None:
        """The file of a Python module given by its absolute dotted name."""
        return self._modules.get(dotted)

    def _first(self, candidates: Iterable[str]) -> str | None:
        return next((path for path in candidates if path in self._paths), None)

    def _ending(self, tail: str, near: str) -> str | None:
        """The file whose path is `tail` or ends in it; of several the one closest to `near`."""
        found = [
            path
            for path in self._by_name.get(posixpath.basename(tail), ())
            if path == tail or path.endswith("/" + tail)
        ]
        return min(found, key=lambda path: (-len(posixpath.commonprefix([path, near])), len(path), path), default=None)

    def _python(self, importer: str, module: str, name: str) -> str | None:
        if not module.startswith("."):
            return (self._modules.get(f"{module}.{name}") if name else None) or self._modules.get(module)
        tail = module.lstrip(".")
        folder = posixpath.dirname(importer)
        for _ in range(len(module) - len(tail) - 1):
            folder = posixpath.dirname(folder)
        base = posixpath.join(folder, *tail.split(".")) if tail else folder
        candidates = [posixpath.join(base, name)] if name and name != "*" else []
        endings = (".py", "/__init__.py", ".pyi", "/__init__.pyi", ".pyx")
        return self._first((candidate + ending).lstrip("/") for candidate in [*candidates, base] for ending in endings)

    def _ecmascript(self, importer: str, module: str, _name: str) -> str | None:
        if not module.startswith("."):
            return None
        base = posixpath.normpath(posixpath.join(posixpath.dirname(importer), module))
        bases = [base, re.sub(r"\.[mc]?jsx?$", "", base)]
        return self._first((b + ending).removeprefix("./") for b in bases for ending in _ECMASCRIPT_ENDINGS)

    def _go(self, _importer: str, module: str, _name: str) -> str | None:
        for folder, declared in self._go_modules.items():
            if module == declared or module.startswith(declared + "/"):
                target = posixpath.join(folder, module[len(declared) + 1 :]).strip("/")
                return (target or ".") if not target or target in self._folders else None
        return None

    def _rust(self, importer: str, module: str, _name: str) -> str | None:
        folder = posixpath.dirname(importer)
        parts = [part for part in module.split("{")[0].split("::") if part]
        stem = posixpath.splitext(posixpath.basename(importer))[0]
        own = folder if stem in ("mod", "lib", "main") else posixpath.join(folder, stem)
        if parts and parts[0] == "crate":
            base, parts = self._rust_root(folder), parts[1:]
        elif parts and parts[0] == "super":
            base, parts = posixpath.dirname(own), parts[1:]
        elif parts and parts[0] == "self":
            base, parts = own, parts[1:]
        elif len(parts) == 1:
            base = own
        else:
            return None
        for count in range(len(parts), 0, -1):
            at = posixpath.join(base, *parts[:count])
            found = self._first((at + ".rs", at + "/mod.rs"))
            if found:
                return found
        return None

    def _rust_root(self, folder: str) -> str:
        while folder and not any(posixpath.join(folder, name) in self._paths for name in _RUST_ROOTS):
            folder = posixpath.dirname(folder)
        return folder

    def _java(self, importer: str, module: str, _name: str) -> str | None:
        tail = module.replace(".", "/")
        return self._ending(tail + ".java", importer) or self._ending(posixpath.dirname(tail) + ".java", importer)

    def _kotlin(self, importer: str, module: str, _name: str) -> str | None:
        tail = module.replace(".", "/")
        endings = (".kt", ".java", ".kts")
        return next((found for e in endings if (found := self._ending(tail + e, importer))), None)

    def _c_sharp(self, importer: str, module: str, _name: str) -> str | None:
        """The folder of a namespace, where folders are named after namespaces, with or without the first part."""
        shorter = module.partition(".")[2]
        for dotted in (module, shorter) if "." in shorter else (module,):
            found = self._dotted_folders.get(dotted, ())
            if found:
                return min(found, key=lambda path: (-len(posixpath.commonprefix([path, importer])), len(path), path))
        return None

    def _shell(self, importer: str, module: str, _name: str) -> str | None:
        """A sourced script; what the path begins with before the first known folder is mostly a variable."""
        tail = re.sub(r"^(?:\$\{?\w+\}?|\$\([^)]*\)|\.)/", "", module)
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(importer), tail))
        return beside if beside in self._paths else self._ending(tail.lstrip("./"), importer)

    def _include(self, importer: str, module: str, _name: str) -> str | None:
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(importer), module))
        return beside if beside in self._paths else self._ending(module.lstrip("./"), importer)

    def _ruby(self, importer: str, module: str, _name: str) -> str | None:
        tail = module if module.endswith(".rb") else module + ".rb"
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(importer), tail))
        return beside if beside in self._paths else self._ending("lib/" + tail.lstrip("./"), importer)

    def _php(self, importer: str, module: str, _name: str) -> str | None:
        parts = module.strip("\\").split("\\")
        for start in range(max(len(parts) - 1, 1)):
            found = self._ending("/".join(parts[start:]) + ".php", importer)
            if found:
                return found
        return None


def _folders_above(path: str) -> Iterable[str]:
    folder = posixpath.dirname(path)
    while folder:
        yield folder
        folder = posixpath.dirname(folder)


def _python_modules(paths: frozenset[str], root_name: str) -> dict[str, str]:
    """Files by dotted name: from the top of their package, from the root, and from below a `src` folder."""
    packages = {
        posixpath.dirname(path) for path in paths if posixpath.basename(path) in ("__init__.py", "__init__.pyi")
    }
    modules: dict[str, str] = {}
    weaker: list[tuple[str, str]] = []
    for path in sorted(paths):
        base, extension = posixpath.splitext(path)
        if extension not in (".py", ".pyi", ".pyx"):
            continue
        base = base.removesuffix("__init__").rstrip("/") if posixpath.basename(base) == "__init__" else base
        top = posixpath.dirname(path)
        if top not in packages:
            inside = posixpath.basename(base)
        else:
            while top and posixpath.dirname(top) in packages:
                top = posixpath.dirname(top)
            above = posixpath.dirname(top)
            inside = base[len(above) + 1 :] if above else base
            if top == "" or "" in packages:
                inside = f"{root_name}/{base}".rstrip("/") if root_name else base
        modules.setdefault(inside.replace("/", "."), path)
        weaker.append((base.replace("/", "."), path))
        weaker += [
            (base[len(folder) :].replace("/", "."), path) for folder in _SOURCE_FOLDERS if base.startswith(folder)
        ]
    for dotted, path in weaker:
        modules.setdefault(dotted, path)
    return modules
