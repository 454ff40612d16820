"""``calibrate --hold-out``: some of the labelled rows set aside, in a file of their own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from riskjudge.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from riskjudge.data.trace import Trace

_TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq")


@dataclass(frozen=True, slots=True)
class Aside:
    """Rows set aside, still to be written; as text it says what they are."""

    rows: pd.DataFrame
    path: Path
    said: str

    def write(self) -> None:
        """Write the rows as they were read."""
        from riskjudge.io.tables import write_table

        write_table(self.rows, self.path)

    def __str__(self) -> str:
        return self.said


def rest_of(gate: Path | None, trace: Path) -> Path:
    """Where the rows go by default: beside the gate, in the trace's format if it is a table."""
    if gate is None:
        raise InputError("say where the items that are held out go: --rest rest.csv")
    ending = trace.suffix.lower()
    return gate.with_name(f"{gate.stem}-rest{ending if ending in _TABLES else '.csv'}")


def set_aside(
    table: Trace, frame: pd.DataFrame, share: float, seed: int, path: Path
) -> tuple[Trace, Aside]:
    """The trace without the items set aside, and these as rows of the table it was read from."""
    from riskjudge.data.hold_out import held_out

    held = held_out(table, share, seed)
    kept = table.rows(~held)
    labelled = int((held & table.labelled).sum())
    groups = "" if table.group is None else f" in {len(set(table.group[held]))} whole groups"
    said = (
        f"held out: {labelled} of {int(table.labelled.sum())} labelled items{groups} (seed {seed}), written "
        f"to {path}; they are for decide, report and page, and no later certificate should use them"
    )
    return kept, Aside(frame[held], path, said)
