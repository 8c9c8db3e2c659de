"""Represents a session of a change at the door: makes its calls, and supplies what only the door can."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from actors.capabilities.code_change.session import calls
from actors.capabilities.code_change.session.ports import Confirm, Similarities
from runtime.contracts.contract import END
from runtime.errors import InputError

# A question and a comparison, each supplied once, and one more for a person who was asked a second thing.
MAX_ROUNDS = 5
MAX_COUNT = 1 << 62


class DoorSession:
    """Calls one session; `folder` is where it works, as the last answer told.

    `rules`: file → text of the project's rules that were in force when this door began or resumed the session.
    """

    def __init__(
        self,
        carrier: calls.ChangeCalls,
        driver: str,
        root: Path,
        told: calls.Answer,
        ask: Confirm,
        compare: Similarities,
    ) -> None:
        self._carrier = carrier
        self._driver = driver
        self._root = root
        self._ask = ask
        self._compare = compare
        self.session_id = str(told["session_id"])
        self.folder = root
        self.is_over = False
        self.rules: Mapping[str, str] = {}
        self._heed(told)

    async def submit(self, payload: object, compaction_count: int | None = None) -> calls.Answer:
        """Hand in a phase. Raises FencedError when another client has taken the session over."""
        count = None if compaction_count is None else max(-1, min(compaction_count, MAX_COUNT))
        submission = json.dumps({"payload": payload, "compaction_count": count})
        call = calls.SubmitPhase(
            driver=self._driver, session_id=self.session_id, submission=submission, key=secrets.token_hex(8)
        )
        return self._heed(await supplied(self._carrier, call, self._ask, self._compare))

    async def status(self) -> calls.Answer:
        """Return where the session stands."""
        return self._heed(await self._carrier.call(calls.ChangeStatus(**self._of())))

    async def answer(self, text: str, *, goes_on: bool) -> calls.Answer:
        """Take a person's answer to an escalation."""
        call = calls.AnswerEscalation(**self._of(), text=text, goes_on=goes_on)
        return self._heed(await self._carrier.call(call))

    async def refusal_of(self, tool: str) -> calls.Answer | None:
        """Return what answers a tool that is out of its phase; None where it may be called."""
        return await self._carrier.call(calls.PermitTool(**self._of(), tool=tool)) or None

    async def record(
        self,
        tool: str,
        targets: Sequence[str] = (),
        shown: Mapping[str, Sequence[tuple[int, int]]] | None = None,
        must_verify: Sequence[str] = (),
        *,
        is_vain: bool = False,
    ) -> Mapping[str, str]:
        """Enter a call of a tool in the session's log; return what must be verified besides, file → why.

        One that `is_vain` was made and counts for nothing.
        """
        lines = {file: tuple(ranges) for file, ranges in (shown or {}).items()}
        must = tuple(must_verify)
        return await self._carrier.call(
            calls.RecordUse(
                **self._of(), tool=tool, targets=tuple(targets), shown=lines, must_verify=must, is_vain=is_vain
            )
        )

    async def check_write_target(self, file: str) -> calls.Answer:
        """Return whether a file may be written."""
        return await self._carrier.call(calls.CheckTarget(**self._of(), file=file))

    async def add_explored_files(self, files: Sequence[str]) -> calls.Answer:
        """Add files that a tool of this session has shown to those that were explored."""
        return await self._carrier.call(calls.AddExplored(**self._of(), files=tuple(files)))

    async def review_changes(self) -> calls.Answer:
        """Return the files that differ from where the change began."""
        return await self._carrier.call(calls.ReviewChanges(**self._of()))

    def _of(self) -> dict[str, Any]:
        return {"driver": self._driver, "session_id": self.session_id}

    def _heed(self, told: calls.Answer) -> calls.Answer:
        if "workspace" in told:
            self.folder = Path(told["workspace"])
        self.is_over = self.is_over or told.get("phase") == END
        return told


async def supplied(
    carrier: calls.ChangeCalls,
    call: calls.StartChange | calls.SubmitPhase | calls.CleanBranches,
    ask: Confirm,
    compare: Similarities,
) -> calls.Answer:
    """Make a call, again with what its answer asks for, until it is decided. Raises InputError if that never ends."""
    for _ in range(MAX_ROUNDS):
        told = await carrier.call(call)
        if calls.ASKS not in told:
            return told
        call = msgspec.structs.replace(call, supplied=await _more(call.supplied, told[calls.ASKS], ask, compare))
    raise InputError("what has to be decided kept changing while the person was asked; try again")


async def _more(
    so_far: calls.Supplied, asked: Mapping[str, Any], ask: Confirm, compare: Similarities
) -> calls.Supplied:
    if calls.ASKS_PERSON in asked:
        question = str(asked[calls.ASKS_PERSON])
        return msgspec.structs.replace(so_far, answers={**so_far.answers, question: await ask(question)})
    wanted = asked[calls.ASKS_LIKENESS]
    return msgspec.structs.replace(so_far, likeness=dict(await compare(wanted["query"], wanted["names"])))
