"""Defines the bounded field types of typed context, and the frozen model that all of it is made of.

Sizes are bounded because most of the text comes from repositories, programs and language models.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Self

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from runtime.errors import InputError
from runtime.primitives.plain_json import plain_json

MAX_NAME_CHARS = 1_000
MAX_STATEMENT_CHARS = 4_000
MAX_TEXT_CHARS = 20_000
MAX_SOURCE_CHARS = 200_000
MAX_PARAMETER_BYTES = 1_000_000
MAX_DOMAIN_BYTES = 1_000_000
MAX_ITEMS = 1_000


def _plain(max_bytes: int, what: str) -> AfterValidator:
    def check(value: dict[str, Any]) -> dict[str, Any]:
        try:
            copied: dict[str, Any] = plain_json(value, max_bytes, what)
        except InputError as error:
            raise ValueError(error.message) from error
        return copied

    return AfterValidator(check)


def _in_utc(value: datetime) -> datetime:
    return value.astimezone(UTC)


Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS)]
Statement = Annotated[str, Field(min_length=1, max_length=MAX_STATEMENT_CHARS)]
Text = Annotated[str, Field(max_length=MAX_TEXT_CHARS)]
Names = Annotated[tuple[Name, ...], Field(max_length=MAX_ITEMS)]
Lines = Annotated[tuple[Statement, ...], Field(max_length=MAX_ITEMS)]
NonNegative = Annotated[int, Field(ge=0)]
LineNumber = Annotated[int, Field(ge=1)]
Hints = Annotated[dict[Name, Text], Field(max_length=100)]
Parameters = Annotated[dict[str, Any], _plain(MAX_PARAMETER_BYTES, "parameters of an action")]
DomainContext = Annotated[dict[str, Any], _plain(MAX_DOMAIN_BYTES, "domain context")]
UtcTime = Annotated[AwareDatetime, AfterValidator(_in_utc)]


class Frozen(BaseModel):
    """Refuses unknown fields and changes in place; fields added later are optional, so that old records load."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def changed(self, **fields: Any) -> Self:
        """Return a validated copy with these fields replaced."""
        own = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self).model_validate({**own, **fields})
