"""Contracts as data: what cannot hold is refused with file, line and key, all of it at once."""

from __future__ import annotations

from pathlib import Path

import pytest

import configs
from runtime.contracts.contract import Contract
from runtime.contracts.loading import parse_contract
from runtime.errors import DocumentFaults

SHIPPED = (Path(str(configs.__path__[0])) / "contracts" / "code_change.yaml").read_text(encoding="utf-8")


def faults_of(old: str, new: str) -> list[str]:
    assert old in SHIPPED
    with pytest.raises(DocumentFaults) as caught:
        parse_contract(SHIPPED.replace(old, new, 1), "c.yml")
    found = caught.value.values["faults"]
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("forward: QUERY_FRAME", "forward: QUERYFRAME", "DOCUMENT_RESEARCH.forward: no phase is named 'QUERYFRAME'"),
        ("to: SEMANTIC", "to: NOWHERE", "Q1.exits[0].to: no phase is named 'NOWHERE'"),
        ("skipped_to: USER_ESCALATION", "skipped_to: NOBODY", "skipped_to: no phase is named 'NOBODY'"),
        ("any_of: [semantic_search]", "any_of: [sematic_search]", "no tool is named 'sematic_search'"),
        ("any_of: [semantic_search]", "any_of: [analyze_impact]", "'analyze_impact' may not be called in SEMANTIC"),
        ("        at_least: 2", "        at_least: 15", "15 kinds are demanded of tools of"),
        ("since: SEMANTIC", "since: SEMANTICS", "tools.semantic_search: no phase is named 'SEMANTICS'"),
        ("within: [READY]", "within: [READY], since: READY", "give one of them"),
        ("excludes: [only_verify]", "excludes: [only_verif]", "no flag is named 'only_verif'"),
        ("short: -f", "short: -q", "-q is the short form of fast already"),
        ("skip_when: [no_stale_branches]", "skip_when: [full_moon]", "'full_moon' is none of"),
        ("step: 7", "step: 6", "6 is the step of Q1 already"),
        ("exits: [{when: answered_yes, to: SEMANTIC}]", "exits: []", "phases.SEMANTIC: no phase leads here"),
        ("forward: SESSION_COMPLETE", "forward: QUERY_FRAME", "leads round in a circle"),
        ("type: choice, choices: [delete, merge, continue]", "type: choice", "a choice has choices"),
        ("{type: bool}", "{type: boolean}", "expected_payload.needs_more_information.type"),
        ("words: [authentic,", "words: [pa,", "high_risk.words[0]: the beginning of a word is needed"),
        ("words: [authentic,", "words: ['',", "high_risk.words[0]: the beginning of a word is needed"),
        *(
            ("name: code_change", f"name: code_change\nprotected_paths: ['{pattern}']", "protected_paths[0]: a pattern")
            for pattern in ("", "!a", "#a", "a b", "a/../b", "./a", "..", "a\\b")
        ),
        ("task_failures: 3", "task_failures: 0", "limits.task_failures"),
        ("name: code_change", "name: code_change\nsecret: 1", "secret: unknown key"),
    ],
)
def test_a_fault_is_told_with_its_place(old: str, new: str, problem: str) -> None:
    told = faults_of(old, new)
    assert any(problem in fault for fault in told), told
    assert all(fault.startswith("c.yml:") for fault in told)


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(DocumentFaults) as caught:
        parse_contract(SHIPPED.replace("forward: Q2", "forward: Q9"), "c.yml")
    assert len(caught.value.values["faults"]) >= 2


@pytest.mark.parametrize("text", ["", "[]", "7", "name: x", "phases: {}", "a: b: c", "\x00"])
def test_what_is_no_contract_is_refused(text: str) -> None:
    with pytest.raises(DocumentFaults):
        parse_contract(text)


def test_the_digest_changes_with_any_word_of_the_contract() -> None:
    one, other = parse_contract(SHIPPED), parse_contract(SHIPPED.replace("task_failures: 3", "task_failures: 4"))
    assert one.digest != other.digest
    assert one.digest == parse_contract(SHIPPED + "\n# a comment\n").digest


def permitted(contract: Contract, tool: str) -> list[str]:
    return [phase for phase in contract.order if contract.is_permitted(tool, phase)]


def test_tools_are_permitted_from_their_phase_on_or_within_it() -> None:
    contract = parse_contract(SHIPPED)
    assert permitted(contract, "search_text")[0] == "DOCUMENT_RESEARCH"
    assert permitted(contract, "semantic_search")[0] == "SEMANTIC"
    assert permitted(contract, "analyze_impact")[0] == "IMPACT_ANALYSIS"
    assert permitted(contract, "check_write_target") == ["READY_PLANNING", "READY_IMPLEMENTATION", "READY_COMPLETION"]
    assert permitted(contract, "review_changes")[0] == "READY_PLANNING"
    assert permitted(contract, "cleanup_stale_branches") == ["BRANCH_INTERVENTION"]
    assert permitted(contract, "sync_index") == list(contract.order)
    assert permitted(contract, "rm") == []
