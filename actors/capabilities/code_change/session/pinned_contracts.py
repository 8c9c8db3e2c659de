"""Finds the contract under which a session began, whatever is shipped or allowed by now."""

from __future__ import annotations

from pydantic import ValidationError

from actors.capabilities.code_change.store.session_store import SessionStore
from runtime.contracts.contract import Contract
from runtime.contracts.session_state import SessionState


def pinned(store: SessionStore, state: SessionState, *known: Contract) -> Contract | None:
    """Return the contract of a session: one of those known, or the one in the store; None if it was not kept."""
    for contract in known:
        if contract.digest == state.contract_digest:
            return contract
    kept = store.contract(state.contract_digest)
    if kept is None:
        return None
    try:
        contract = Contract.model_validate_json(kept)
    except ValidationError:
        # Written by another version of this program, whose contracts had other keys.
        return None
    return contract if contract.digest == state.contract_digest else None
