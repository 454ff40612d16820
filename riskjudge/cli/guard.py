"""No command writes over a file that it reads."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

from typer.core import TyperGroup

from riskjudge.errors import InputError
from riskjudge.io.files import is_stream

_OUTPUTS = ("output", "parquet", "html", "rest")
# Files that a command goes on with: they are read and written on purpose.
_BOTH = ("ledger", "registry", "cache", "state", "snapshot", "record")


class GuardedGroup(TyperGroup):
    """Commands that are checked for an output that is one of their inputs, before they run."""

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
