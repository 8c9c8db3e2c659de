"""A comment is told beside the setting that it documents, and beside no other, in the layouts of several languages."""

from __future__ import annotations

import re

import pytest

from actors.capabilities.code_analysis.answers.open_answer import MAX_WORDS, answer_claims
from actors.capabilities.code_analysis.answers.places.further_places import further_claims
from actors.capabilities.code_analysis.evidence.claims import Claim
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.ranking.answer_order import Place
from runtime.codebase.files.words import index_terms
from runtime.codebase.search.excerpts import excerpt_of
from runtime.codebase.search.prose.sentences import holds
from tests.capabilities.code_analysis.support import cited

PYTHON = """
class Adjustments:
    # Maximum number of lost parcels that are held at the depot.
    #
    # Default: 100
    parcel_limit = 100

    # Maximum seconds to leave an idle connection open.
    #
    # Default: 120
    idle_timeout = 120

    # Boolean: turn off to not log premature disconnects.
    log_errors = True

    max_body_size = 1073741824  # the largest body of a request
"""
ATTRIBUTES = """
class Adjustments:
    parcel_limit: int = 100
    \"\"\"Maximum number of lost parcels that are held at the depot.\"\"\"

    idle_timeout: float = 120.0
    \"\"\"Maximum seconds to leave an idle connection open.\"\"\"
    max_body_size: int = 1073741824
    \"\"\"The largest body of a request that is read.\"\"\"
"""
TYPESCRIPT = """
export interface Adjustments {
  /**
   * Maximum number of lost parcels that are held at the depot.
   */
  parcelLimit?: number = 100
  /**
   * Maximum seconds to leave an idle connection open.
   */
  idleTimeout?: number = 120
  /** The largest body of a request that is read. */
  maxBodySize?: number = 1073741824
}
"""
GO = """
type Adjustments struct {
	// ParcelLimit is the maximum number of lost parcels that are held at the depot.
	ParcelLimit int `default:"100"`
	// IdleTimeout is the maximum of seconds to leave an idle connection open.
	IdleTimeout int `default:"120"`
	// MaxBodySize is the largest body of a request that is read.
	MaxBodySize int `default:"1073741824"`
}
"""
RUST = """
pub struct Adjustments {
    /// Maximum number of lost parcels that are held at the depot.
    #[serde(default = "100")]
    pub parcel_limit: u64,
    /// Maximum seconds to leave an idle connection open.
    #[serde(default = "120")]
    pub idle_timeout: u64,
    /// The largest body of a request that is read.
    #[serde(default = "1073741824")]
    pub max_body_size: u64,
}
"""
C = """
/* Maximum number of lost parcels that are held at the depot. */
#define PARCEL_LIMIT 100
/* Maximum seconds to leave an idle connection open. */
#define IDLE_TIMEOUT 120
/* The largest body of a request that is read. */
#define MAX_BODY_SIZE 1073741824
"""
JAVA = """
public class Adjustments {
    /** Maximum number of lost parcels that are held at the depot. */
    private int parcelLimit = 100;
    /** Maximum seconds to leave an idle connection open. */
    private int idleTimeout = 120;
    /** The largest body of a request that is read. */
    private long maxBodySize = 1073741824;
}
"""
LANGUAGES = {"py": PYTHON, "pyi": ATTRIBUTES, "ts": TYPESCRIPT, "go": GO, "rs": RUST, "c": C, "java": JAVA}
# A question, a word of the sentence that answers it, and the names of the settings that it is not about.
QUESTIONS = [
    ("How many seconds may an idle connection stay open?", "idle", ("parcel", "body")),
    ("How many lost parcels are held at the depot?", "depot", ("idle", "body")),
    ("How large may the body of a request be?", "body", ("parcel", "idle")),
    ("What limits the size of a lost body that is idle?", "", ()),
]


def place_of(text: str, file: str, question: str, name: str = "Adjustments") -> Place:
    lines = text.strip("\n").split("\n")
    weights = dict.fromkeys(index_terms(question).split(), 1.0)
    fact = CodeFact("definition", cited(file, 1, len(lines)), name=name, excerpt=excerpt_of(lines, 1, weights))
    return Place(fact, 1.0)


def is_held(claim: Claim, lines: list[str]) -> bool:
    ranges = [lines[c.start_line - 1 : c.end_line] for c in claim.citations]
    return all(any(holds(cited, quote) for cited in ranges) for quote in claim.quotes)


@pytest.mark.parametrize("ending", LANGUAGES)
@pytest.mark.parametrize(("question", "word", "others"), QUESTIONS)
def test_a_comment_is_told_with_its_own_setting_alone(
    ending: str, question: str, word: str, others: tuple[str, ...]
) -> None:
    text = LANGUAGES[ending]
    place = place_of(text, f"a.{ending}", question)
    (claim,) = further_claims([place], MAX_WORDS)
    assert is_held(claim, text.strip("\n").split("\n"))
    told = claim.text.lower()
    sentences = re.findall(r"«([^»]*)»", told)
    spans = re.findall(r"`([^`]+)`", told.partition(": ")[2])
    assert word in told
    for sentence in sentences:
        topics = {topic for topic in ("parcel", "idle", "body") if topic in sentence}
        named = {topic for span in spans for topic in ("parcel", "idle", "body") if topic in span}
        assert named <= topics, claim.text
    if sentences:
        assert not any(other in told for other in others), claim.text
    for citation in claim.citations if others else ():
        cited_text = " ".join(text.strip("\n").split("\n")[citation.start_line - 1 : citation.end_line]).lower()
        assert not any(other in cited_text for other in others), citation.mark


@pytest.mark.parametrize("ending", LANGUAGES)
@pytest.mark.parametrize(("question", "word", "others"), QUESTIONS[:3])
def test_the_excerpt_of_a_list_of_settings_holds_the_one_that_is_asked_for(
    ending: str, question: str, word: str, others: tuple[str, ...]
) -> None:
    text = LANGUAGES[ending].strip("\n")
    indent = "    " if ending in {"py", "pyi"} else ""
    around = "\n".join(f"{indent}// Says nothing of it, number {n}.\n{indent}other_{n} = {n}\n" for n in range(20))
    (lead, *_) = answer_claims([place_of(f"{text}\n{around}", f"a.{ending}", question)])
    told = f"{lead.text} {lead.code}".lower()
    assert word in told
    assert not any(other in told for other in (*others, "says nothing")), told
    assert str({"idle": 120, "depot": 100, "body": 1073741824}[word]) in lead.code


def test_a_sentence_on_one_parameter_is_told_with_lines_that_have_it() -> None:
    text = '''
def send(box, wait_s, tries):
    """Send a box.

    :param wait_s: seconds until the lost parcel is given up
    :param tries: how often a lost letter is tried again
    """
    self.tries = tries or letter(box)
    deadline = now() + wait_s
'''
    (claim,) = further_claims([place_of(text, "a.py", "seconds until a lost parcel is given up", "send")], MAX_WORDS)
    assert "wait_s" in claim.text
    assert "tries" not in claim.text
