"""What holds for every command: none writes over a file that it reads, and errors have one voice."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import Any

import typer
from typer import Abort
from typer.core import TyperGroup

from riskjudge.errors import InputError
from riskjudge.io.files import is_stream

_OUTPUTS = ("output", "parquet", "html", "rest")
# Files that a command goes on with: they are read and written on purpose.
_BOTH = ("ledger", "registry", "cache", "state", "snapshot", "record")


class GuardedGroup(TyperGroup):
    """Commands that are checked for an output that is one of their inputs, before they run.

    Bad usage is said like any other bad input: in a line that begins with ``riskjudge:``.
    """

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command, and exit with its code."""
        run = partial(
            super().main, args, prog_name, complete_var, False, windows_expand_args, **extra
        )
        if not standalone_mode:
            return run()
        try:
            code = run()
        except Abort:
            typer.echo("riskjudge: stopped", err=True)
            sys.exit(130)
        except Exception as error:
            sys.exit(_told(error))
        sys.exit(code if isinstance(code, int) else 0)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name, its check before it."""
        command: Any = super().get_command(ctx, cmd_name)
        if command is None or command.callback is None or hasattr(command, "_guarded"):
            return command
        callback = command.callback

        @wraps(callback)
        def checked(*arguments: Any, **values: Any) -> Any:
            refuse_overwriting(values)
            return callback(*arguments, **values)

        command.callback = checked
        command._guarded = True
        return command


def _told(error: Any) -> int:
    """Say what was wrong with the command line, and where to read more; the exit code.

    Typer brings a copy of click, or uses click itself: its errors are known by what they can do.
    """
    if not hasattr(error, "format_message") or not hasattr(error, "exit_code"):
        raise error
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
    else:
        message = error.format_message().rstrip(".")
        context = getattr(error, "ctx", None)
        more = "" if context is None else f" (see {context.command_path} --help)"
        typer.echo(f"riskjudge: {message[:1].lower()}{message[1:]}{more}", err=True)
    return int(error.exit_code)


def refuse_overwriting(values: Mapping[str, Any]) -> None:
    """Raise if a command's output is a file among its other parameters.

    Parameters
    ----------
    values : mapping of str to object
        Of the command's parameters, by name.

    Raises
    ------
    InputError
    """
    for name in _OUTPUTS:
        output = values.get(name)
        if not output or is_stream(output) or not os.path.isfile(output):
            continue
        for other, value in values.items():
            if other in (*_OUTPUTS, *_BOTH):
                continue
            for path in _paths(value):
                if os.path.isfile(path) and os.path.samefile(path, output):
                    raise InputError(
                        f"{output} is an input of this command, too; name another output"
                    )


def _paths(value: Any) -> Iterator[str | Path]:
    for one in value if isinstance(value, list | tuple) else (value,):
        if isinstance(one, str | Path) and one:
            yield one
