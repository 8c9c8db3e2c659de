"""Registers the commands of the `jeeves` program."""

from __future__ import annotations

import typer

from serve.cli.command_group import CommandGroup
from serve.cli.commands import (
    ask,
    batch,
    bench,
    check,
    doctor,
    envelope_json,
    fix,
    gc,
    index,
    mcp,
    project,
    runs,
    serve_http,
    simulate,
    token,
    tool,
    up_down,
    validate,
)

app = typer.Typer(
    name="jeeves",
    help="Ask about code and get answers with checked citations; run bounded, durable agents on Ray.",
    no_args_is_help=True,
    cls=CommandGroup,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("ask")(ask.ask)
app.command("batch")(batch.batch)
app.command("check")(check.check)
app.command("gc")(gc.gc)
app.command("index")(index.index)
app.command("tool")(tool.tool)
app.command("init")(project.init)
app.command("mcp")(mcp.mcp)
app.command("allow")(project.allow)
app.command("outcome")(project.outcome)
app.command("clean")(project.clean)
app.command("validate")(validate.validate)
app.command("doctor")(doctor.doctor)
app.command("up")(up_down.up)
app.command("down")(up_down.down)
app.command("status")(up_down.status)
app.command("serve")(serve_http.serve)
app.command("simulate")(simulate.simulate)
app.add_typer(bench.app, name="bench")
app.add_typer(fix.app, name="fix")
app.add_typer(runs.app, name="runs")
app.add_typer(token.app, name="token")
app.add_typer(envelope_json.app, name="envelope")
