"""Writes the report of `jeeves fix`: what is fixed, what was taken back, and what a person has to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from runtime.primitives.visible_text import visible, visible_line
from serve.batch.fix_record import FixPlan, FixResult, endings
from serve.cli.output.terminal import counted

MAX_LEFT_SHOWN = 20


def json_report(plan: FixPlan, results: Mapping[str, FixResult]) -> dict[str, Any]:
    """Return the report as plain data."""
    ended = endings(plan, results)
    rows = [_row(each, results.get(str(each["name"])), *ended[str(each["name"])]) for each in plan.requests]
    return {
        "schema_version": 1,
        "fix_id": plan.fix_id,
        "repository": plan.repository,
        "base_commit": plan.base_commit,
        "branch": plan.branch if any(row["commit"] for row in rows) else None,
        "counts": _counts(rows),
        "violations": rows,
        "left": [msgspec.to_builtins(each) for each in plan.left],
        "notes": list(plan.told),
        "usage": {
            "steps": sum(row["steps"] for row in rows),
            "tokens": sum(row["tokens"] for row in rows),
        },
    }


def markdown_report(plan: FixPlan, results: Mapping[str, FixResult]) -> str:
    """Return the report in Markdown."""
    told = json_report(plan, results)
    counts = told["counts"] | ({"not tried": len(told["left"])} if told["left"] else {})
    summary = ", ".join(f"{count} {ending}" for ending, count in counts.items()) or "nothing to fix"
    lines = [f"# Fix {plan.fix_id}: {summary}", ""]
    for row in told["violations"]:
        commit = f", commit {row['commit'][:12]}" if row["commit"] else ""
        untested = "" if row["is_tested"] or row["ending"] != "fixed" else "; **no test watches over it**"
        where = f"`{row['symbol'] or row['path']}` in {row['path']}:{row['line']}"
        ruled = f"; rules chose {row['ruled_steps']} of {row['steps']} steps" if row["ruled_steps"] else ""
        ruled += f", since the model gave no usable answer: {row['why_ruled']}" if ruled else ""
        lines.append(f"- **{row['ending']}** {row['check_id']} of {where}: {row['reason']}{untested}{commit}{ruled}")
        if row["diff"]:
            lines += ["", "```diff", visible(row["diff"]).rstrip("\n"), "```", ""]
    if told["left"]:
        lines += ["", f"Not tried: {counted(len(told['left']), 'violation')}"]
        lines += [
            f"- {each['check_id']} in {each['path']}:{each['line']}: {each['reason']}"
            for each in told["left"][:MAX_LEFT_SHOWN]
        ]
        if len(told["left"]) > MAX_LEFT_SHOWN:
            lines.append(f"- {len(told['left']) - MAX_LEFT_SHOWN} more; `--json` lists them all")
    if told["branch"]:
        lines += ["", f"The commits are on the branch `{plan.branch}`; look at them with"]
        lines += [f"`git log -p {plan.base_commit[:12]}..{plan.branch}`, and merge what you like."]
    if plan.is_dry_run and told["violations"]:
        lines += ["", "A dry run: nothing is committed, so every violation is still there."]
    lines += ["", f"{told['usage']['steps']} steps, {told['usage']['tokens']} tokens of models."]
    return "\n".join(lines) + "\n"


def _row(request: Mapping[str, Any], result: FixResult | None, ending: str, reason: str) -> dict[str, Any]:
    violation = request["violation"]
    fix = (result.fix if result is not None else None) or {}
    usage = result.usage if result is not None else {}
    is_fixed = ending == "fixed"
    return {
        "violation_id": violation["violation_id"],
        "check_id": violation["check_id"],
        "path": visible_line(violation["path"]),
        "line": violation["line"],
        "symbol": visible_line(violation.get("symbol", "")),
        "ending": ending,
        "reason": visible_line(reason),
        "commit": fix.get("commit", "") if is_fixed else "",
        "diff": fix.get("diff", "") if is_fixed and not fix.get("commit") else "",
        "is_tested": bool(fix.get("is_tested", False)),
        "steps": int(fix.get("steps", 0)),
        "reverted_edits": int(fix.get("reverted", 0)),
        "ruled_steps": int(fix.get("ruled_steps", 0)),
        "why_ruled": visible_line(str(fix.get("why_ruled", ""))),
        "run_id": result.run_id if result is not None else "",
        "tokens": int(usage.get("tokens_in", 0)) + int(usage.get("tokens_out", 0)),
    }


def _counts(rows: list[dict[str, Any]]) -> dict[str, int]:
    order = ("fixed", "gone", "escalated", "reverted", "skipped", "failed", "open")
    found = {ending: sum(row["ending"] == ending for row in rows) for ending in order}
    return {ending: count for ending, count in found.items() if count}
