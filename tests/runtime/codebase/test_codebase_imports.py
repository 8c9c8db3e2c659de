from __future__ import annotations

from pathlib import Path

import pytest

from runtime.codebase.index.rows import rooted_packages
from runtime.codebase.parsing.import_resolution import ImportResolver

PATHS = [
    "src/shop/__init__.py",
    "src/shop/orders.py",
    "src/shop/json/__init__.py",
    "src/shop/deep/__init__.py",
    "src/shop/deep/leaf.py",
    "tools/run.py",
    "web/index.ts",
    "web/cart.ts",
    "web/lib/index.js",
    "go/go.mod",
    "go/binding/json.go",
    "rs/src/lib.rs",
    "rs/src/a/mod.rs",
    "rs/src/a/b.rs",
    "java/src/com/shop/Cart.java",
    "c/include/util/x.h",
    "c/src/main.c",
    "c/src/y.h",
    "rb/lib/shop/cart.rb",
    "rb/lib/shop.rb",
    "php/src/Models/User.php",
    "kt/src/com/shop/Till.kt",
    "cs/Shop.Core/Models/User.cs",
    "sh/run.sh",
    "sh/lib/log.sh",
]


@pytest.fixture(scope="module")
def resolver() -> ImportResolver:
    return ImportResolver(PATHS, "repo", {"go": {"go": "example.com/shop"}})


@pytest.mark.parametrize(
    ("importer", "language", "module", "name", "target"),
    [
        ("tools/run.py", "python", "shop", "", "src/shop/__init__.py"),
        ("tools/run.py", "python", "shop", "orders", "src/shop/orders.py"),
        ("tools/run.py", "python", "shop.orders", "Order", "src/shop/orders.py"),
        ("tools/run.py", "python", "src.shop.orders", "Order", "src/shop/orders.py"),
        ("tools/run.py", "python", "json", "", None),
        ("src/shop/orders.py", "python", "json", "dumps", None),
        ("src/shop/orders.py", "python", ".", "json", "src/shop/json/__init__.py"),
        ("src/shop/orders.py", "python", ".", "VERSION", "src/shop/__init__.py"),
        ("src/shop/deep/leaf.py", "python", "..orders", "Order", "src/shop/orders.py"),
        ("src/shop/deep/leaf.py", "python", "...", "x", None),
        ("web/index.ts", "typescript", "./cart", "", "web/cart.ts"),
        ("web/index.ts", "typescript", "./cart.js", "", "web/cart.ts"),
        ("web/index.ts", "typescript", "./lib", "", "web/lib/index.js"),
        ("web/index.ts", "typescript", "react", "", None),
        ("go/main.go", "go", "example.com/shop/binding", "", "go/binding"),
        ("go/main.go", "go", "example.com/other/binding", "", None),
        ("rs/src/lib.rs", "rust", "crate::a::b::Thing", "", "rs/src/a/b.rs"),
        ("rs/src/lib.rs", "rust", "a", "", "rs/src/a/mod.rs"),
        ("rs/src/a/b.rs", "rust", "super::Thing", "", None),
        ("rs/src/a/b.rs", "rust", "std::fs::File", "", None),
        ("java/src/com/shop/App.java", "java", "com.shop.Cart", "", "java/src/com/shop/Cart.java"),
        ("java/src/com/shop/App.java", "java", "com.shop.Cart.LIMIT", "", "java/src/com/shop/Cart.java"),
        ("java/src/com/shop/App.java", "java", "java.util.List", "", None),
        ("c/src/main.c", "c", "y.h", "", "c/src/y.h"),
        ("c/src/main.c", "c", "util/x.h", "", "c/include/util/x.h"),
        ("c/src/main.c", "c", "stdio.h", "", None),
        ("rb/lib/shop.rb", "ruby", "shop/cart", "", "rb/lib/shop/cart.rb"),
        ("php/index.php", "php", "App\\Models\\User", "", "php/src/Models/User.php"),
        ("kt/src/com/shop/App.kt", "kotlin", "com.shop.Till", "", "kt/src/com/shop/Till.kt"),
        ("kt/src/com/shop/App.kt", "kotlin", "com.shop.Cart", "", "java/src/com/shop/Cart.java"),
        ("kt/src/com/shop/App.kt", "kotlin", "com.shop.Cart.LIMIT", "", "java/src/com/shop/Cart.java"),
        ("kt/src/com/shop/App.kt", "kotlin", "kotlin.math.max", "", None),
        ("java/src/com/shop/App.java", "java", "com.shop.Till", "", "kt/src/com/shop/Till.kt"),
        ("cs/App.cs", "c_sharp", "Shop.Core.Models", "", "cs/Shop.Core/Models"),
        ("cs/App.cs", "c_sharp", "Acme.Core.Models", "", "cs/Shop.Core/Models"),
        ("cs/App.cs", "c_sharp", "System.Models", "", None),
        ("sh/run.sh", "shell", "lib/log.sh", "", "sh/lib/log.sh"),
        ("sh/run.sh", "shell", "$HERE/lib/log.sh", "", "sh/lib/log.sh"),
        ("sh/run.sh", "shell", "/etc/profile", "", None),
        ("a.hs", "haskell", "Data.List", "", None),
    ],
)
def test_an_import_means_the_file_that_the_language_would_take(
    resolver: ImportResolver, importer: str, language: str, module: str, name: str, target: str | None
) -> None:
    assert resolver.resolve(importer, language, module, name) == target


def test_when_the_root_is_itself_a_package_its_name_counts() -> None:
    resolver = ImportResolver(["__init__.py", "models.py", "sub/__init__.py", "sub/x.py"], "requests")
    assert resolver.resolve("models.py", "python", "requests.sub", "x") == "sub/x.py"
    assert resolver.resolve("models.py", "python", "requests", "") == "__init__.py"
    assert resolver.resolve("sub/x.py", "python", "..models", "Request") == "models.py"


RUST_PATHS = [
    *("old/Cargo.toml", "old/src/main.rs", "old/src/config.rs", "old/src/cmd/mod.rs", "old/src/cmd/cat.rs"),
    *("new/Cargo.toml", "new/src/lib.rs", "new/src/log.rs", "new/src/part.rs", "new/src/part/inner.rs"),
    *("shop-core/Cargo.toml", "shop-core/src/lib.rs", "shop-core/src/till.rs"),
]


@pytest.fixture(scope="module")
def crates() -> ImportResolver:
    names = {"old": "old", "new": "new", "shop-core": "shop-core"}
    return ImportResolver(RUST_PATHS, "repo", {"rust": names}, {"rust": {"old"}})


@pytest.mark.parametrize(
    ("importer", "module", "target"),
    [
        ("old/src/cmd/cat.rs", "config::{Config, Delimiter}", "old/src/config.rs"),
        ("old/src/cmd/cat.rs", "config", "old/src/config.rs"),
        ("old/src/config.rs", "cmd::cat::run", "old/src/cmd/cat.rs"),
        ("old/src/cmd/cat.rs", "csv", None),
        ("new/src/part.rs", "log::info", None),
        ("new/src/lib.rs", "log::info", "new/src/log.rs"),
        ("new/src/part.rs", "inner::Depot", "new/src/part/inner.rs"),
        ("new/src/part.rs", "shop_core::till::Till", "shop-core/src/till.rs"),
        ("new/src/part.rs", "shop_core::Shop", "shop-core/src/lib.rs"),
        ("new/src/part.rs", "shop_core", "shop-core/src/lib.rs"),
        ("new/src/part.rs", "{", None),
    ],
)
def test_rust_path_begins_at_a_module_a_crate_or_in_2015_at_the_root(
    crates: ImportResolver, importer: str, module: str, target: str | None
) -> None:
    assert crates.resolve(importer, "rust", module) == target


def test_package_without_an_edition_is_one_of_rust_2015(tmp_path: Path) -> None:
    for folder, text in (
        ("old", '[package]\nname = "old"\n'),
        ("new", '[package]\nname = "new"\nedition = "2021"\n'),
        ("inherits", '[package]\nname = "inherits"\nedition.workspace = true\n'),
        (".", '[workspace]\nmembers = ["old", "new"]\n'),
    ):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "Cargo.toml").write_text(text)
    paths = ["Cargo.toml", "old/Cargo.toml", "new/Cargo.toml", "inherits/Cargo.toml"]
    assert rooted_packages(tmp_path, paths) == {"rust": {"old"}}
