"""What the columns of a trace are for: one role each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from riskjudge.errors import InputError


def check_roles(
    columns: Iterable[object],
    modes: Sequence[tuple[str, str, str]],
    item_id: str,
    label: str,
    group: str | None,
    source: str,
) -> None:
    """Refuse a column in two roles, and one whose name another column of the table nearly has.

    Parameters
    ----------
    columns : Iterable[object]
        All columns of the table.
    modes : Sequence[tuple[str, str, str]]
        Name, verdict column and uncertainty column of each mode.
    item_id, label, group : str or str, optional
        The other columns with a role.
    source : str
        How messages call the table.

    Raises
    ------
    InputError
        With both roles, or both columns, named.
    """
    roles: dict[str, str] = {}

    def take(column: str | None, role: str) -> None:
        if column is None:
            return
        if column in roles:
            raise InputError(
                f"{source}: the column {column!r} is given as the {roles[column]} and as the {role}; "
                "a column has one role (a label is no verdict: all verdicts would be right)"
            )
        roles[column] = role

    take(item_id, "id")
    take(label, "label")
    take(group, "group")
    verdicts: dict[str, str] = {}
    for mode, verdict, uncertainty in modes:
        # Two measures of one judge's verdicts are two modes, so a verdict may be used again.
        if verdict not in verdicts:
            take(verdict, f"verdict of {mode}")
        verdicts[verdict] = mode
        take(uncertainty, f"uncertainty of {mode}")
    names = [str(column) for column in columns]
    for role in roles:
        for name in names:
            like = name.strip().lower() == role.strip().lower()
            renamed = re.fullmatch(rf"{re.escape(role)}\.[0-9]+", name)
            if role in names and name != role and (like or renamed):
                raise InputError(
                    f"{source} has the columns {role!r} and {name!r}, which look like one column twice; "
                    "drop or rename one of them"
                )
    doubled = [name for name in roles if names.count(name) > 1]
    if doubled:
        raise InputError(f"{source}: the column {doubled[0]!r} occurs twice; which one is meant?")
