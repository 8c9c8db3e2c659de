"""Keys of git's configuration that name a program or a file, or change answers, as a hostile repository has them."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.attacks.repositories import Canary

ATTRIBUTES = b"* filter=evil diff=evil merge=evil\n"
HOOKS = (
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg"),
    *("commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update"),
    *("proc-receive", "post-receive", "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc"),
    *("post-rewrite", "sendemail-validate", "fsmonitor-watchman", "post-index-change", "p4-pre-submit"),
)


@dataclass(frozen=True)
class Trap:
    """Hostile configuration, where `TRAP` stands for the program and `FOLDER` for the folder that it is in.

    `fires`: git runs the program for somebody who merely looks.
    """

    name: str
    config: str | bytes
    attributes: bytes = ATTRIBUTES
    files: dict[str, str] = field(default_factory=dict)
    fires: bool = False

    def contents(self, canary: Canary) -> dict[str, bytes]:
        def filled(text: str | bytes) -> bytes:
            data = text if isinstance(text, bytes) else text.encode()
            return data.replace(b"TRAP", bytes(canary.program)).replace(b"FOLDER", bytes(canary.program.parent))

        files = {name: filled(content) for name, content in self.files.items()}
        return {".git/config": b"\n" + filled(self.config) + b"\n", ".git/info/attributes": self.attributes} | files


def one(key: str, value: str = "TRAP", *, fires: bool = False, **more: object) -> Trap:
    """A trap that is one key, as `section.key` or `section.name.key`."""
    section, _, rest = key.partition(".")
    name, _, last = rest.rpartition(".")
    head = f'[{section} "{name}"]' if name else f"[{section}]"
    return Trap(key, f"{head}\n\t{last} = {value}", fires=fires, **more)  # type: ignore[arg-type]


FILTERS = [
    one("filter.evil.clean", fires=True),
    one("filter.evil.smudge"),
    Trap("filter.evil.process", '[filter "evil"]\n\tprocess = TRAP\n\trequired = true', fires=True),
    Trap("filter a=b", '[filter "a=b"]\n\tclean = TRAP', b"* filter=a=b\n", fires=True),
    Trap("filter a=b.process", '[filter "a=b.process"]\n\tprocess = TRAP', b"* filter=a=b.process\n", fires=True),
    Trap("filter not UTF-8", b'[filter "\xff\xfe"]\n\tclean = TRAP', b"* filter=\xff\xfe\n", fires=True),
    Trap("filter with a quote", b'[filter "a\\"b"]\n\tclean = TRAP', b'* filter=a"b\n', fires=True),
    Trap("filter with a dot", "[filter.evil]\n\tclean = TRAP", fires=True),
    Trap("filter in capitals", '[FILTER "evil"]\n\tCLEAN = TRAP', fires=True),
    Trap(
        "filter of the work tree's own configuration",
        "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tworktreeConfig = true",
        files={".git/config.worktree": '[filter "evil"]\n\tclean = TRAP\n'},
        fires=True,
    ),
    Trap(
        "filter of a submodule",
        "",
        files={"sub/.git/config": '\n[filter "evil"]\n\tclean = TRAP\n', "sub/.git/info/attributes": "* filter=evil\n"},
        fires=True,
    ),
    Trap("monitor of a submodule", "", files={"sub/.git/config": "\n[core]\n\tfsmonitor = TRAP\n"}, fires=True),
]
DIFFS = [
    one("diff.evil.textconv", fires=True),
    Trap("diff.evil.cachetextconv", '[diff "evil"]\n\ttextconv = TRAP\n\tcachetextconv = true', fires=True),
    one("diff.evil.command", fires=True),
    one("diff.external", fires=True),
    one("diff.orderFile", "/nonexistent"),
    one("diff.orderFile", "FOLDER/order"),
    one("diff.noprefix", "true"),
    one("diff.submodule", "diff"),
    one("diff.ignoreSubmodules", "none"),
    one("diff.evil.xfuncname", "("),
    one("diff.evil.wordRegex", "("),
]
LOOKING = [
    one("core.fsmonitor", fires=True),
    Trap("core.fsmonitorHookVersion", "[core]\n\tfsmonitor = TRAP\n\tfsmonitorHookVersion = 1", fires=True),
    one("core.hooksPath", "FOLDER/hooks"),
    one("core.pager"),
    *(one(f"pager.{command}") for command in ("log", "diff", "blame", "status", "show")),
    one("core.editor"),
    one("sequence.editor"),
    one("core.attributesFile", "FOLDER/attributes"),
    one("core.excludesFile", "FOLDER/everything"),
    one("core.alternateRefsCommand"),
    one("gpg.program"),
    Trap("log.showSignature", "[log]\n\tshowSignature = true\n[gpg]\n\tprogram = TRAP", fires=True),
    Trap("gpg.openpgp.program", '[log]\n\tshowSignature = true\n[gpg "openpgp"]\n\tprogram = TRAP', fires=True),
    *(one(f"gpg.{kind}.program") for kind in ("x509", "ssh")),
    *(one(f"gpg.ssh.{key}") for key in ("allowedSignersFile", "revocationFile", "defaultKeyCommand")),
    one("blame.ignoreRevsFile", "/nonexistent"),
    one("blame.ignoreRevsFile", "FOLDER/revisions"),
    one("blame.date", "relative"),
    one("mailmap.file", "FOLDER/people"),
    one("mailmap.blob", "HEAD:alpha.py"),
    one("log.date", "relative"),
    one("log.follow", "true"),
    one("log.diffMerges", "on"),
    one("format.pretty", "%h"),
    one("i18n.logOutputEncoding", "UTF-16"),
    one("status.relativePaths", "false"),
    one("status.showUntrackedFiles", "no"),
    one("status.renames", "false"),
    one("status.submoduleSummary", "true"),
    one("core.quotePath", "true"),
    one("core.abbrev", "4"),
    one("color.ui", "always"),
    one("core.untrackedCache", "true"),
    one("core.splitIndex", "true"),
    one("attr.tree", "HEAD"),
    one("trace2.normalTarget", "FOLDER/ran"),
    one("trace2.eventTarget", "FOLDER/ran"),
    one("trace2.perfTarget", "FOLDER/ran"),
]
INCLUDED = [
    one("include.path", "FOLDER/included", fires=True),
    one("includeIf.gitdir:/**.path", "FOLDER/included", fires=True),
    one("includeIf.gitdir/i:/**.path", "FOLDER/included", fires=True),
    one("includeIf.onbranch:main.path", "FOLDER/included", fires=True),
    one("includeIf.hasconfig:remote.*.url:**.path", "FOLDER/included"),
    Trap(
        "include.path of a file here",
        "[include]\n\tpath = more",
        files={".git/more": '[filter "evil"]\n\tclean = TRAP\n'},
        fires=True,
    ),
]
REMOTE = [
    *(one(f"core.{key}") for key in ("sshCommand", "askPass", "gitProxy")),
    *(one(f"remote.origin.{key}") for key in ("uploadpack", "receivepack", "vcs", "proxy")),
    Trap(
        "remote.origin.promisor",
        "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tpartialClone = origin\n"
        '[remote "origin"]\n\tpromisor = true\n\tpartialclonefilter = blob:none\n\turl = ext::TRAP\n'
        "\tuploadpack = TRAP\n"
        "[protocol]\n\tallow = always\n",
    ),
    Trap("url.insteadOf", '[remote "origin"]\n\turl = x:y\n[url "ext::TRAP"]\n\tinsteadOf = x:'),
    one("credential.helper", "!TRAP"),
    one("credential.https://example.com.helper", "!TRAP"),
    one("protocol.ext.allow", "always"),
    one("http.cookieFile"),
    one("uploadpack.packObjectsHook"),
    one("receive.procReceiveRefs", "refs"),
    one("bundle.evil.uri", "ext::TRAP"),
    one("submodule.sub.update", "!TRAP"),
    Trap("submodule.recurse", '[submodule]\n\trecurse = true\n[submodule "sub"]\n\tactive = true\n\tignore = none'),
    one("fetch.recurseSubmodules", "true"),
]
OTHERS = [
    *(one(f"alias.{command}", "!TRAP") for command in ("log", "status", "diff", "blame", "show", "rev-parse")),
    one("merge.evil.driver"),
    *(one(f"{tool}.evil.{key}") for tool in ("mergetool", "difftool", "browser", "man") for key in ("cmd", "path")),
    *(one(key, "evil") for key in ("diff.tool", "diff.guitool", "merge.tool", "web.browser")),
    *(one(f"trailer.evil.{key}") for key in ("command", "cmd")),
    *(one(f"guitool.evil.{key}") for key in ("cmd", "prompt")),
    *(one(f"sendemail.{key}") for key in ("toCmd", "ccCmd", "smtpServer")),
    one("interactive.diffFilter"),
    one("imap.tunnel"),
    one("instaweb.httpd"),
    one("gitcvs.dbDriver"),
    one("tar.evil.command"),
    one("hook.evil.command"),
    one("init.templateDir", "FOLDER"),
    one("commit.template"),
    one("gc.recentObjectsHook"),
    one("maintenance.auto", "true"),
    one("core.createObject", "link"),
    one("extensions.refStorage.x"),
]
TRAPS = [*FILTERS, *DIFFS, *LOOKING, *INCLUDED, *REMOTE, *OTHERS]
