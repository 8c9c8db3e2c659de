"""YAML from outside: lines kept, nothing executed, every fault said at once, no document that hangs the reader."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import DocumentFaults
from runtime.primitives.yaml_documents import MAX_DOCUMENT_BYTES, dotted, load_yaml, parse_yaml, raise_faults


def faults_of(text: str) -> list[str]:
    with pytest.raises(DocumentFaults) as caught:
        parse_yaml(text, "x.yaml")
    found = caught.value.values["faults"]
    assert isinstance(found, list)
    return found


def test_values_are_plain_and_every_key_knows_its_line() -> None:
    document = parse_yaml("a: 1\nb:\n  - x\n  - y: [1.5, true, null]\n", "x.yaml")
    assert document.data == {"a": 1, "b": ["x", {"y": [1.5, True, None]}]}
    assert document.lines[("b",)] == 2
    assert document.lines[("b", 1, "y")] == 4


def test_a_fault_at_a_key_that_is_missing_gets_the_line_of_what_holds_it() -> None:
    document = parse_yaml("a: 1\nb:\n  c: 2\n", "x.yaml")
    assert str(document.fault(("b", "d", 3), "gone")) == "x.yaml:2: b.d[3]: gone"
    assert str(document.fault(("z",), "gone")) == "x.yaml:1: z: gone"


def test_an_empty_document_is_none() -> None:
    assert parse_yaml("", "x.yaml").data is None
    assert parse_yaml("# nothing\n", "x.yaml").data is None


def test_keys_given_twice_are_faults_each_with_its_line() -> None:
    assert faults_of("a: 1\nb: {c: 1, c: 2}\na: 3\n") == ["x.yaml:2: b.c: given twice", "x.yaml:3: a: given twice"]


def test_text_that_is_no_yaml_is_a_fault_with_its_line() -> None:
    (fault,) = faults_of("a: 1\nb: [1,\n")
    assert fault.startswith("x.yaml:3: not valid YAML: ")


@pytest.mark.parametrize(
    "value",
    ["!!python/name:os.system x", "2024-13-45", "!!int abc", "!!int ''", "!!float x", "!custom x", "9" * 5000],
    ids=lambda value: value[:20],
)
def test_a_value_that_cannot_be_built_is_a_fault_with_its_line(value: str) -> None:
    (fault,) = faults_of(f"a: 1\nb: {value}\n")
    assert fault.startswith("x.yaml:2: b: not a plain value: ")


def test_tags_on_collections_build_no_objects() -> None:
    assert parse_yaml("a: !!python/object:os.system {x: 1}", "x.yaml").data == {"a": {"x": 1}}


def test_thirty_levels_may_be_nested_and_thirty_one_may_not() -> None:
    assert parse_yaml("[" * 30 + "]" * 30, "x.yaml").data
    (fault,) = faults_of("[" * 31 + "1" + "]" * 31)
    assert "more than 30 levels" in fault


@pytest.mark.long
def test_brackets_without_end_are_a_fault_and_no_crash() -> None:
    (fault,) = faults_of("[" * 100_000)
    assert fault == "x.yaml: nested too deep"


def test_aliases_that_multiply_are_a_fault_and_do_not_hang() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    (fault,) = faults_of("\n".join(lines))
    assert "more than 100000 values" in fault


def test_an_alias_of_itself_is_a_fault_and_does_not_hang() -> None:
    assert faults_of("a: &a [*a, *a]")


def test_a_file_that_is_not_there_is_a_fault_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(DocumentFaults, match=r"gone\.yaml: cannot be read: No such file"):
        load_yaml(tmp_path / "gone.yaml")


def test_a_file_name_that_cannot_be_one_is_a_fault() -> None:
    with pytest.raises(DocumentFaults, match="cannot be read"):
        load_yaml(Path("a\0b"))


def test_a_file_that_is_no_utf8_is_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"a: \xff\xfe")
    with pytest.raises(DocumentFaults, match="cannot be read"):
        load_yaml(path)


def test_a_file_of_the_greatest_size_is_read_and_one_byte_more_is_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"#" * MAX_DOCUMENT_BYTES)
    assert load_yaml(path).data is None
    path.write_bytes(b"#" * (MAX_DOCUMENT_BYTES + 1))
    with pytest.raises(DocumentFaults, match=f"{MAX_DOCUMENT_BYTES + 1} bytes, at most {MAX_DOCUMENT_BYTES}"):
        load_yaml(path)


def test_no_faults_raise_nothing_and_all_faults_are_in_one_message() -> None:
    raise_faults([])
    document = parse_yaml("a: 1", "x.yaml")
    with pytest.raises(DocumentFaults, match=r"^2 faults: x.yaml:1: a: one; x.yaml:1: two$"):
        raise_faults([document.fault(("a",), "one"), document.fault((), "two")])


def test_a_key_path_is_written_with_dots_and_brackets() -> None:
    assert dotted(("agents", 2, "routing_rules", 0, "target")) == "agents[2].routing_rules[0].target"
    assert dotted(()) == ""


@given(st.text(alphabet="ab:-[]{}&*!\n '\"0123.~?|>%@#,", max_size=60))
def test_any_text_is_read_or_refused_with_faults(text: str) -> None:
    try:
        parse_yaml(text, "x.yaml")
    except DocumentFaults as error:
        assert error.values["faults"]
