"""The command line: one file per command (parse, call, print). `pliant --help` lists them."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from importlib import import_module
from types import FrameType
from typing import Any

# name -> module that holds a function of the same name; in the order a newcomer meets them.
COMMANDS = {
    "demo": "pliant.cli.demo",
    "plan": "pliant.cli.plan",
    "view": "pliant.cli.view",
    "report": "pliant.cli.report",
    "run": "pliant.cli.run",
    "calibrate": "pliant.cli.calibrate",
    "check": "pliant.cli.check",
    "judge": "pliant.cli.judge",
    "press": "pliant.cli.press",
    "forces": "pliant.cli.forces",
    "ik": "pliant.cli.ik",
    "servo": "pliant.cli.servo",
    "recording": "pliant.cli.recording",
    "export": "pliant.cli.export",
    "ros": "pliant.cli.ros",
    "arm": "pliant.cli.arm",
    "hand": "pliant.cli.hand",
    "batch": "pliant.cli.batch",
    "robots": "pliant.cli.robots",
    "objects": "pliant.cli.objects",
    "doctor": "pliant.cli.doctor",
}
HELP = ["-h", "--help"]
EXIT_INTERRUPTED = 130
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EMFILE, errno.ENFILE)
"""What a system says that has no room for files, in whatever is being written: nobody's fault here."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    from pliant.cli.output import use_outputs

    out, err = use_outputs()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _remember_ctrl_c)
    try:
        code = run_command(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    out.flush()
    if out.lost is not None:
        code = 2
        print(f"pliant: the answer cannot be written: {out.lost}", file=err)
    err.flush()
    sys.exit(code)


def run_command(arguments: list[str]) -> int:
    """Run the command line; the exit code.

    Not called ``run``: that is the module of the command of this name, once it has been imported.
    """
    import typer

    from pliant.cli.answers import EXIT_BROKEN, EXIT_OURS, emit, error_answer
    from pliant.errors import InputError, OptionError

    wants_json = "--json" in arguments
    try:
        result = _application()(args=arguments, prog_name="pliant", standalone_mode=False)
        if result == EXIT_INTERRUPTED:  # so Typer answers Ctrl-C, in silence
            print("interrupted", file=sys.stderr)
        return result if isinstance(result, int) else 0
    except typer.Exit as stop:
        return stop.exit_code
    except typer.Abort:
        print("interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except typer.TyperException as bad:
        message = bad.format_message() if hasattr(bad, "format_message") else str(bad)
        if not message:
            return 0  # bare `pliant`: the help has been shown
        context = getattr(bad, "ctx", None)
        hint = f" (see: {context.command_path} --help)" if context is not None else ""
        print(f"pliant: {message}{hint}", file=sys.stderr)
        emit(
            {"error": {"source": "command line", "problems": [{"where": "", "what": message, "allowed": ""}]}},
            wants_json,
        )
        return EXIT_BROKEN
    except InputError as bad:
        print(f"pliant: {bad}", file=sys.stderr)
        emit(error_answer(bad), wants_json)
        return EXIT_BROKEN
    except SystemExit as stop:  # Typer's answer to the shell's questions for completion
        return EXIT_BROKEN if stop.code else 0
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except Exception as bug:
        if _by_ctrl_c(bug):
            print("interrupted", file=sys.stderr)
            return EXIT_INTERRUPTED
        if isinstance(bug, OSError) and bug.errno in NO_ROOM:
            refused = OptionError(str(bug.filename or "the system"), f"{bug.strerror}: make room, or raise the limit")
            print(f"pliant: {refused}", file=sys.stderr)
            emit(error_answer(refused), wants_json)
            return EXIT_BROKEN
        if os.environ.get("PLIANT_TRACEBACK"):
            raise
        what = f"{type(bug).__name__}: {bug}"
        print(f"pliant: internal error, our fault: {what}", file=sys.stderr)
        print("pliant: run again with PLIANT_TRACEBACK=1 for the details, and please report them", file=sys.stderr)
        emit({"error": {"source": "pliant", "problems": [{"where": "", "what": what, "allowed": ""}]}}, wants_json)
        return EXIT_OURS


ctrl_c = threading.Event()
"""Set once it was pressed."""


def _remember_ctrl_c(signum: int, frame: FrameType | None) -> None:
    """Compiled code that is interrupted may say anything else."""
    ctrl_c.set()
    signal.default_int_handler(signum, frame)


def _by_ctrl_c(bad: BaseException | None) -> bool:
    """Whether an error comes from Ctrl-C: pressed while compiled code runs, it arrives as that code's failure."""
    if ctrl_c.is_set():
        return True
    while bad is not None:
        if isinstance(bad, KeyboardInterrupt):
            return True
        bad = bad.__cause__ or bad.__context__
    return False


def _application() -> Any:
    import typer

    from pliant import __version__

    app = typer.Typer(
        name="pliant",
        help="Grasps of things that give: the smallest contact forces that hold, deformation included.",
        no_args_is_help=True,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": HELP},
    )

    def show_version(value: bool) -> None:
        if value:
            print(f"pliant {__version__}")
            raise typer.Exit

    @app.callback()
    def root(
        version: bool = typer.Option(
            False, "--version", callback=show_version, is_eager=True, help="Show the version."
        ),
    ) -> None:
        """Grasps of things that give: the smallest contact forces that hold, deformation included."""

    for name, module in COMMANDS.items():
        function = getattr(import_module(module), name)
        app.command(name)(function)
    application: Any = typer.main.get_command(app)
    for command in (application, *application.commands.values()):
        # The help option is made once, when first asked for, and kept.
        for parameter in (*command.params, command.get_help_option(typer.Context(command, help_option_names=HELP))):
            _name_value(parameter)
    return application


def _name_value(parameter: Any) -> None:
    """What the help shows as a value: nothing for a switch, else one word of people, not of Python."""
    if parameter is None or parameter.metavar is not None:
        return
    words = {
        "int range": "<int>",
        "float range": "<float>",
        "list[Path]": "<path>",
        "list[str]": "<str>",
        "list[float]": "<float>",
    }
    shown = str(parameter.display_type(None)).strip("<>")
    if parameter.param_type_name == "option":
        parameter.metavar = "" if parameter.is_flag else words.get(shown)
    elif shown in words:
        parameter.display_type = lambda _context: words[shown]  # metavar is an argument's name, not its type
