"""Chooses how far an answer is trusted: by its judge, its best round, or the names that it lacks."""

from __future__ import annotations

from collections.abc import Sequence

from actors.capabilities.code_analysis.agents.collected_claims import Collected
from actors.capabilities.code_analysis.answers.composition import tells_none_of_the_names
from actors.capabilities.code_analysis.answers.confidence import NOTHING, WITH_CHOICES, Trust
from actors.capabilities.code_analysis.answers.findings import Finding
from actors.capabilities.code_analysis.answers.wording import NO_DEFINITION
from actors.capabilities.code_analysis.handover.passes import passes_of
from actors.capabilities.code_analysis.handover.synthesis import synthesis_if_any
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.kinds import kind_of
from runtime.codebase.codebase import Codebase
from runtime.codebase.resolution.symbol_links import normal_name
from runtime.primitives.dotted_names import last_part
from runtime.run.stage_view import StageView

# Of an answer about names that the repository does not have: as low as one about words that occur nowhere.
NAMES_NOT_TOLD = Trust(0.2, 0.1)

# Of an answer about the uses of a name whose definition is not known: it lists lines to read.
SUBJECT_NOT_KNOWN = 0.3


def confidence_of_relations(question: Question, findings: Sequence[Finding]) -> float:
    """Return that of an answer from the relations of a name: of its kind, less where its definition is not known.

    It is not where what leads has another name than one of those asked for. That of a list may be a closed set.
    """
    if any(claim.role == "choices" for finding in findings for claim in finding.claims):
        return WITH_CHOICES
    kind = kind_of(question)
    leads = [claim for finding in findings for claim in finding.claims if claim.role == "lead"]
    asked = {last_part(normal_name(name)).lower() for name in question.identifiers}
    is_other = bool(asked and leads) and not any(last_part(claim.subject).lower() in asked for claim in leads)
    is_unknown = kind.of_uses and (is_other or any(claim.text.startswith(NO_DEFINITION) for claim in leads))
    return min(SUBJECT_NOT_KNOWN, kind.usual_confidence) if is_unknown else kind.usual_confidence


def undefined_names(codebase: Codebase, question: Question, findings: Sequence[Finding]) -> tuple[str, ...]:
    """Return the names of a question if no claim has any of them and no symbol bears one; empty otherwise.

    What was found instead may be near to the names; it is no answer about them.
    """
    if not tells_none_of_the_names(question, findings):
        return ()
    symbols = [normal_name(name).rpartition(".")[2] for name in question.identifiers]
    # «all `ERR_*` codes»: what others begin with is no name by itself.
    begins = [name for name in symbols if name.endswith("_") and codebase.index.has_name_with(name.lower())]
    is_known = bool(begins) or any(codebase.symbols_named(name, limit=1) for name in symbols)
    return () if is_known else tuple(question.identifiers)


def trust_of(view: StageView, collected: Collected, *, is_empty: bool) -> Trust | None:
    """Return that of a model's judge, or of the rules' best round of a question in words; none if nothing was found.

    Nothing was found, too, where a bound ended the search before it found anything: the answer is as empty.
    """
    if is_empty:
        return NOTHING
    if collected.draft is not None:
        judged = collected.draft.confidence
        return None if judged is None else Trust(judged, judged)
    said = [(done.presence, done.confidence) for done in passes_of(view)]
    synthesis = synthesis_if_any(view)
    if not said and synthesis is not None:
        said = [(synthesis.presence, synthesis.confidence)]
    told = [(presence, value) for presence, value in said if presence is not None and value is not None]
    return Trust(*max(told)) if told else None
