"""What a question is about occurs nowhere: which words decide, what counts as an occurrence, what is only aside."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.codebase import Codebase
from runtime.codebase.files.words import index_terms
from runtime.codebase.index.writer import refresh
from runtime.codebase.search.presence.absence import (
    MAX_ASIDE,
    MAX_QUESTION_CHARS,
    MAX_SUBJECTS,
    Absence,
    Mention,
    absence_of,
    is_documented,
    subjects,
)
from runtime.codebase.search.presence.familiarity import AS_USUAL, LEAST_USUAL, familiarity, usual_words
from runtime.codebase.search.presence.lexicon import is_ordinary
from tests.runtime.codebase.sample_repository import write_files

Open = Callable[[Path], Codebase]

FILES = {
    "shop/depot.py": "class Depot:\n    def retry(self, order):\n        return order\n",
    "shop/completion.py": "def zshcompletion():\n    return 'fish'\n\n\ndef web_socket():\n    return 1\n",
    "shop/stores.py": "# Keeps orders in PostgreSQL, one in k8s, with OAuth.\nBACKEND = 'postgresql'\n",
    "shop/rabbitmq_bridge.py": "VALUE = 1\n",
    "README.md": "# Shop\n\nSells quick things, and colorizes them.\n",
    "CHANGELOG.md": "# Changes\n\n## 1.0\n\n- Removed the memcached store.\n",
    "tests/test_depot.py": "def test_a_mongodb_url_is_refused():\n    assert True\n",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Codebase]:
    root = tmp_path_factory.mktemp("built") / "shop"
    root.mkdir()
    write_files(root, FILES)
    index_path = root.parent / "index.sqlite"
    refresh(root, index_path)
    codebase = Codebase.open(root, index_path)
    yield codebase
    codebase.close()


def nowhere(codebase: Codebase, question: str) -> tuple[str, ...]:
    return absence_of(codebase.index, question).nowhere


@pytest.mark.parametrize(
    ("question", "absent"),
    [
        ("How would I add another depot, say Kafka?", ()),
        ("How do I add a new depot (e.g. Kafka)?", ()),
        ("Where do I plug in an order, for example one of GraphQL, and where is Kafka read?", ("Kafka",)),
        ("How do I add Kafka?", ("Kafka",)),
        ("Is there a depot such as Kafka?", ("Kafka",)),
        ("What do the new docs say Kafka does?", ("Kafka",)),
    ],
)
def test_an_example_of_what_is_to_be_added_need_not_be_there(
    built: Codebase, question: str, absent: tuple[str, ...]
) -> None:
    assert nowhere(built, question) == absent


@pytest.mark.parametrize("word", ["Kafka", "kafka", "GraphQL", "gRPC", "Neo4j", "nushell", "QUIC", "brotli"])
def test_a_product_that_no_file_mentions_occurs_nowhere(built: Codebase, word: str) -> None:
    assert nowhere(built, f"How do I use {word} here?") == (word,)


@pytest.mark.parametrize(
    "word",
    [
        "zsh",  # the beginning of a name
        "websocket",  # written in two words
        "WebSockets",
        "PostgreSQL",
        "postgres",  # the beginning of a longer one
        "kubernetes",  # abbreviated
        "OAuth2",
        "rabbitmq",  # in a path
        "colouriser",  # in American spelling
        "Memcached",
    ],
)
def test_a_word_occurs_in_any_form_spelling_or_abbreviation(built: Codebase, word: str) -> None:
    assert nowhere(built, f"How do I use {word} here?") == ()


def test_a_short_word_does_not_occur_as_the_beginning_of_another_one(built: Codebase) -> None:
    assert nowhere(built, "Where is a quic stream opened?") == ("quic",)


@pytest.mark.parametrize(("files", "expected"), [(1, ("PostgreSQL",)), (2, ())])
def test_a_few_letters_stand_for_a_word_where_two_files_have_them(
    tmp_path: Path, files: int, expected: tuple[str, ...]
) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    write_files(root, {f"shop/part_{at}.py": "PARTS = '([pg])'\n" for at in range(files)})
    refresh(root, tmp_path / "index.sqlite")
    codebase = Codebase.open(root, tmp_path / "index.sqlite")
    assert nowhere(codebase, "Can orders be kept in PostgreSQL?") == expected
    codebase.close()


DOCUMENTED = {
    "GUIDE.md": "# Yard\n\nLate parcels wait until a van returns.\n\n# Vans\n\nVans load heavy crates.\n",
    "STAFF.md": "# Staff\n\nDrivers sleep upstairs.\n",
    "CHANGELOG.md": "# Changes\n\n- Fragile lamps travel upright in padded boxes.\n",
    "tests/test_yard.py": '"""Broken scales weigh wet sacks wrongly."""\n\n\ndef test_it():\n    assert True\n',
    "yard/gate.py": 'def shut():\n    """Locks rusty gates before heavy storms."""\n',
}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Do late parcels wait for vans that return?", True),
        ("Do parcels wait for vans?", False),  # three words are in other repositories, too
        ("Do drivers load heavy crates upstairs?", False),  # in two documents
        ("Do fragile lamps travel upright in boxes?", False),  # only a changelog
        ("Do broken scales weigh wet sacks?", False),  # only a test
        ("Are rusty gates locked before storms?", True),
        ("Do late parcels wait for vans that return? " + "yes " * MAX_QUESTION_CHARS, False),
        ("", False),
    ],
)
def test_a_question_whose_words_one_passage_of_documentation_has_is_documented(
    tmp_path: Path, question: str, expected: bool
) -> None:
    root = tmp_path / "yard"
    root.mkdir()
    write_files(root, DOCUMENTED)
    refresh(root, tmp_path / "index.sqlite")
    codebase = Codebase.open(root, tmp_path / "index.sqlite")
    assert is_documented(codebase.index, question) is expected
    assert absence_of(codebase.index, question).documented is expected
    codebase.close()


@pytest.mark.parametrize("verb", ["heeds", "redeploys", "pesters", "moderates", "unpunished", "superfluous"])
def test_ordinary_words_of_english_decide_nothing(built: Codebase, verb: str) -> None:
    assert nowhere(built, f"Which part of the depot {verb} an order that was retried?") == ()


@pytest.mark.parametrize("word", ["middleware", "comma", "timestamps", "callbacks", "snapshots", "docker"])
def test_words_that_software_has_in_common_decide_nothing(built: Codebase, word: str) -> None:
    assert nowhere(built, f"How does the depot use {word}?") == ()


def test_the_name_of_the_repository_decides_nothing(built: Codebase) -> None:
    assert absence_of(built.index, "How do I start Vexillum?", "vexillum").nowhere == ()
    assert absence_of(built.index, "How do I start Vexillum?", "shop").nowhere == ("Vexillum",)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("kafka", ["kafka"]),
        ("the of and", []),
        ("", []),
        ("Kafka?", ["Kafka"]),
        ("Wie wird die Datei mit dem Puffer gelesen?", []),
        ("Wie wird die Datei mit GraphQL gelesen?", ["GraphQL"]),
        ("如何支持 zsh 补全", ["zsh"]),
        ("如何实现", []),
        ("HOW DO I USE THE DEPOT HERE?", []),
        ("How Do I Configure The Depot Here?", []),
        ("Who retries? Nobody does. Orders wait.", []),
        ("Why doesn't it stop after 10ms, and shouldn't it after the 3rd time?", []),
        ("What about Kafka's offsets and kafka's topics?", ["Kafka"]),
        ("Where is (.*kafka[a-z]+)? and *zsh$ matched?", ["kafka", "zsh"]),
    ],
)
def test_the_distinctive_words_of_a_question(question: str, expected: list[str]) -> None:
    assert subjects(question) == expected


@pytest.mark.parametrize(("length", "decides"), [(-1, True), (0, True), (1, False)])
def test_a_long_report_decides_nothing(built: Codebase, length: int, decides: bool) -> None:
    end = " and where is kafka used?"
    question = "the depot " * MAX_QUESTION_CHARS
    question = question[: MAX_QUESTION_CHARS + length - len(end)] + end
    assert (nowhere(built, question) == ("kafka",)) is decides
    assert nowhere(built, "kafka " * 20_000) == ()


def test_no_more_than_eight_words_are_looked_up(built: Codebase) -> None:
    names = [f"Qx{letter}zz" for letter in "abcdefghij"]
    assert len(nowhere(built, f"Where is {' and '.join(names)} used?")) == MAX_SUBJECTS


def test_a_word_in_tests_or_a_changelog_alone_is_aside(built: Codebase) -> None:
    found = absence_of(built.index, "How do I keep orders in Memcached?")
    assert (found.nowhere, found.aside) == ((), (Mention("Memcached", "CHANGELOG.md", 1, 5),))
    tested = absence_of(built.index, "How do I keep orders in MongoDB?")
    assert [mention.file for mention in tested.aside] == ["tests/test_depot.py"]
    assert absence_of(built.index, "Which tests mention MongoDB?").aside == ()


@pytest.mark.parametrize(("more", "is_aside"), [(-1, True), (0, True), (1, False)])
def test_a_word_in_many_tests_is_not_aside(root: Path, opened: Open, more: int, is_aside: bool) -> None:
    test = "def test_a_mongodb_url():\n    assert 1\n"
    files = {f"tests/test_{number}.py": test for number in range(MAX_ASIDE + more)}
    write_files(root, {**FILES, **files, "tests/test_depot.py": ""})
    assert bool(absence_of(opened(root).index, "How do I keep orders in MongoDB?").aside) is is_aside


def test_what_was_searched_is_counted(root: Path, opened: Open) -> None:
    rows = "".join(f'  "key{number}": 1,\n' for number in range(700))
    long = {"data.json": "{\n" + rows + '  "last": 1\n}\n', "package-lock.json": "{}\n", "picture.png": "\0\0"}
    write_files(root, {**FILES, **long})
    found = absence_of(opened(root).index, "Where is kafka used?")
    assert (found.files, found.in_part) == (len(FILES), 2)


def test_the_share_of_words_that_occur_nowhere(built: Codebase) -> None:
    assert absence_of(built.index, "depot retry kafka zoology").unknown == 0.5
    assert absence_of(built.index, "").unknown == 0.0


USUAL = {"depot": 0.001, "retri": 0.001, "zoolog": 0.2}


@pytest.mark.parametrize(
    ("question", "usual", "low", "high"),
    [
        ("", USUAL, 0.5, 0.5),
        ("depot", USUAL, 0.5, 1.0),
        ("depot retry", USUAL, 0.5, 1.0),
        ("zoology", USUAL, 0.0, 0.5),
        ("zoology", {"zoolog": LEAST_USUAL / 2}, 0.0, 0.5),
        ("depot " * 300, USUAL, 0.5, 1.0),
    ],
)
def test_a_repository_is_familiar_with_what_it_says_more_often_than_others(
    built: Codebase, question: str, usual: dict[str, float], low: float, high: float
) -> None:
    assert low <= familiarity(built.index, question, usual) <= high


def test_a_small_repository_without_a_word_is_nearly_as_usual(root: Path, opened: Open) -> None:
    write_files(root, {"one.txt": "Parcels.\n"})
    assert 0.4 < familiarity(opened(root).index, "zoology", USUAL) <= AS_USUAL


def test_the_usual_words_are_stems_with_their_share() -> None:
    usual = usual_words()
    assert all(0 < share <= 1 for share in usual.values())
    assert usual["error"] > usual["compress"] > 0


@pytest.mark.parametrize(
    ("question", "share"),
    [
        ("", 1.0),
        ("depot", 1.0),
        ("the depot's retry", 1.0),
        ("quick memcached", 0.0),
        ("retry of the depot; quick memcached", 0.3333),
        ("depot " * 300, 1.0),
    ],
)
def test_the_share_of_neighbouring_words_that_are_near_each_other(built: Codebase, question: str, share: float) -> None:
    assert absence_of(built.index, question).together == share


def test_a_repository_without_a_word_has_nothing(root: Path, opened: Open) -> None:
    write_files(root, {"blank.txt": "\n"})
    assert absence_of(opened(root).index, "Where is kafka used?") == Absence(
        ("kafka",), unknown=1.0, spoken_of=0.5, files=1
    )


@given(st.text(max_size=300))
def test_any_text_has_distinctive_words(text: str) -> None:
    assert all(word in text for word in subjects(text))


@pytest.mark.parametrize(
    ("word", "expected"),
    [("replayed", True), ("redeployed", True), ("knobs", True), ("kafka", False), ("zsh", False), ("captcha", False)],
)
def test_the_lexicon_knows_words_in_any_form(word: str, expected: bool) -> None:
    assert is_ordinary(word) is expected


PROTOCOLS = {
    "net/door.py": "# Speaks HTTP/1.1 and, since 2019, HTTP/2, over TLS 1.2.\n"
    "VERSION = ssl.TLSv1_2\nOLD = ssl.TLS1_1_VERSION\n",
    "net/address.py": "def is_ipv4(text):\n    return '.' in text\n",
    "net/digest.py": "NAMES = ('sha-256', 'utf-8')\nSTEP = 3\n",
    "net/h2.py": "class H2Protocol:\n    pass\n",
    "net/odd.py": "ODD = 'HTTP/3.3 200 fine'\n",
}


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Is HTTP/3 supported?", ("HTTP/3",)),
        ("Does it support TLS 1.3?", ("TLS 1.3",)),
        ("Can it listen on IPv6 addresses?", ("IPv6",)),
        ("Can it keep its files in S3?", ("S3",)),
        ("Does it know SHA-512?", ("SHA-512",)),
        ("Is HTTP/1.1 supported?", ()),
        ("Is HTTP/2 supported?", ()),
        ("Does it support TLS 1.2 or TLSv1.1?", ()),
        ("Can it listen on IPv4 addresses?", ()),
        ("Does it know SHA-256 and UTF-8?", ()),
        ("Does it speak H2?", ()),
        ("What does Step 4 do?", ()),
    ],
)
def test_a_name_with_its_version_is_a_name_of_its_own(
    root: Path, opened: Open, question: str, expected: tuple[str, ...]
) -> None:
    write_files(root, PROTOCOLS)
    assert nowhere(opened(root), question) == expected


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("HTTP/3", ["http", "http3"]),
        ("TLS 1.3, UTF-8", ["tls", "utf", "tls13", "utf8"]),
        ("TLSv1.3", ["tlsv1", "tl", "sv", "tls13"]),
        ("a/2, 3-4, x.y/z", []),
        ("built 2024-10-12", ["built", "2024", "10", "12"]),
    ],
)
def test_a_word_with_its_version_is_one_term(text: str, terms: list[str]) -> None:
    assert index_terms(text).split() == terms


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("It looks like a leftover astrolabe. Does anything still read it?", []),
        ("Does anything still read the astrolabe?", ["astrolabe"]),
        ("It is an astrolabe of HeliumKit. Does anything still read it?", ["HeliumKit"]),
        ("An astrolabe is not moored.", ["astrolabe"]),
        ("Bug? An astrolabe is not moored.", ["astrolabe"]),
    ],
)
def test_what_only_the_situation_says_proves_nothing_absent(question: str, words: list[str]) -> None:
    assert [word for word in subjects(question) if word in ("leftover", "astrolabe", "HeliumKit")] == words
