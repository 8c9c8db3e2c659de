"""Refuses requests whose query has fields that their endpoint does not read, or has one of them twice.

A field that is ignored gives an answer to another question than was asked: a total of all runs for that of one.
"""

from __future__ import annotations

from urllib.parse import parse_qsl

from fastapi import Request

from runtime.errors import InputError

MOST_NAMED = 5


async def check_query(request: Request) -> None:
    """Raise InputError for a field of the query that the route does not have, or that is given several times."""
    route = request.scope["route"]
    known = [str(field.alias) for field in route.dependant.query_params]
    given = [name for name, _ in parse_qsl(request.scope["query_string"].decode("latin-1"), keep_blank_values=True)]
    unknown = [name[:40] for name in dict.fromkeys(given) if name not in known]
    if unknown:
        raise InputError(
            f"query: there is no {', '.join(unknown[:MOST_NAMED])}; this endpoint reads"
            f" {', '.join(known) or 'no field'}",
            unknown=unknown[:MOST_NAMED],
            known=known,
        )
    repeated = [name for name in known if given.count(name) > 1]
    if repeated:
        raise InputError(f"query: give {', '.join(repeated)} once, not {given.count(repeated[0])} times")
