"""Reads from a folder of packages what authors call their functions and what the naming code makes of these.

    python -m tests.naming.examples --packages FOLDER --out FILE

FOLDER has a folder of sources for each package. FILE gets one object for each function, as JSON. Functions that are
called once are put back where they are called (`is_put_back`); of others only the body is known.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from multiprocessing import Pool
from pathlib import Path

from actors.capabilities.violation_fix.refactoring.block_analysis import Extraction
from actors.capabilities.violation_fix.refactoring.block_exits import Form
from actors.capabilities.violation_fix.refactoring.cutting.cuts import Cut, Shape
from actors.capabilities.violation_fix.refactoring.flow.name_scopes import FunctionPlace, own_nodes, places_of
from actors.capabilities.violation_fix.refactoring.hazards import crossings_of
from actors.capabilities.violation_fix.refactoring.naming.block_context import BlockContext
from actors.capabilities.violation_fix.refactoring.naming.helper_names import suggest_names
from actors.capabilities.violation_fix.refactoring.naming.learned.block_features import features_of
from actors.capabilities.violation_fix.refactoring.naming.learned.verb_groups import NO_VERB, verb_class
from actors.capabilities.violation_fix.refactoring.naming.name_words import singular, words_of
from actors.capabilities.violation_fix.refactoring.source_text import SourceText
from tests.naming.authored import LONGEST, SHORTEST, blocks_in, sources_in

MOST_OF_A_FILE = 60
PARTS, HELD_OUT = 6, 2


@dataclass(frozen=True)
class Example:
    """Holds what an author calls a function, and what is known of its body."""

    package: str
    path: str
    name: str
    is_put_back: bool
    features: list[str]
    suggestions: list[tuple[str, float, str]]

    @property
    def is_held_out(self) -> bool:
        """True for packages that nothing is learned from."""
        return part_of(self.package) < HELD_OUT


def part_of(package: str) -> int:
    return int(hashlib.sha256(package.encode()).hexdigest(), 16) % PARTS


def examples_of(package: Path) -> list[Example]:
    """Return the functions of a package."""
    return [each for path, text, tree in sources_in(package) for each in _of_file(package.name, path, text, tree)]


def _of_file(package: str, path: str, text: str, tree: ast.Module) -> Iterator[Example]:
    source, put_back = SourceText(text), set()
    for name, context in blocks_in(source, tree):
        put_back.add(name)
        told = [(each.name, each.quality, each.reason) for each in suggest_names(context)]
        yield _example(package, path, name, context, told, is_put_back=True)
    others = [place for place in places_of(source.tree) if place.function.name not in put_back]
    bodies = (pair for place in others if (pair := _body_of(source, place)) is not None)
    for _, (name, context) in zip(range(MOST_OF_A_FILE), bodies, strict=False):
        yield _example(package, path, name, context, [], is_put_back=False)


def _example(
    package: str,
    path: str,
    name: str,
    context: BlockContext,
    told: list[tuple[str, float, str]],
    *,
    is_put_back: bool,
) -> Example:
    features = features_of(context)
    if not is_put_back:
        # What is around it is the function itself, whose name is not to be seen.
        features = frozenset(each for each in features if not each.startswith(("in:", "in1:")))
    return Example(package, path, name, is_put_back, sorted(features), told)


def _body_of(source: SourceText, place: FunctionPlace) -> tuple[str, BlockContext] | None:
    """Return a function's name and its body as if that were a block."""
    function = place.function
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if not body or function.name.startswith("__") or verb_class(function.name) == NO_VERB:
        return None
    if not SHORTEST <= (body[-1].end_lineno or 0) - body[0].lineno + 1 <= LONGEST:
        return None
    nodes = [node for statement in body for node in own_nodes(statement)]
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in nodes):
        return None
    returns = any(isinstance(node, ast.Return) and node.value is not None for node in nodes)
    inputs = tuple(each.arg for each in place.parameters if each.arg not in ("self", "cls"))
    form = Form.RETURN if returns else Form.PLAIN
    extraction = Extraction(tuple(body), form, inputs, (), crossings_of(body), True, None, None)
    return function.name, BlockContext(source, place, Cut(body, (), Shape.PARAGRAPH), extraction)


def object_of(name: str) -> list[str]:
    words = [singular(word) for word in words_of(name.strip("_"))]
    return words if verb_class(name) == NO_VERB else words[1:]


def read_examples(path: Path) -> list[Example]:
    with path.open(encoding="utf-8") as lines:
        return [Example(**json.loads(line)) for line in lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    packages = sorted(path for path in given.packages.iterdir() if path.is_dir())
    with given.out.open("w", encoding="utf-8") as out, Pool(given.processes) as pool:
        for examples in pool.imap(examples_of, packages):
            out.writelines(json.dumps(asdict(example)) + "\n" for example in examples)


if __name__ == "__main__":
    main()
