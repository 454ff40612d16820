"""``riskjudge agreement``: does the judge agree with humans, and may it be promoted?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from riskjudge.cli import completion, options
from riskjudge.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from riskjudge.agreement import AgreementReport, Floors, PositionConsistency, Promotion
    from riskjudge.data.source import ScoreSource
    from riskjudge.display import Table


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("agreement")(agreement)


def agreement(
    file: Annotated[
        Path, typer.Argument(help="CSV, JSONL or Parquet, a unit a row; or a ledger of ours.")
    ],
    judge: Annotated[
        str | None,
        typer.Option(help="Column of the judge's labels; of a ledger, the arm as judge/mode."),
    ] = None,
    human: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of a human's labels; repeat it for more humans. (of a ledger: label)"
        ),
    ] = None,
    id_column: Annotated[str, typer.Option("--id", help="Column of the unit's id.")] = "item_id",
    level: Annotated[
        str,
        typer.Option(
            help="What labels mean: nominal, ordinal, interval or ratio.",
            autocompletion=completion.one_of("nominal", "ordinal", "interval", "ratio"),
        ),
    ] = "nominal",
    categories: Annotated[
        str | None,
        typer.Option(help="All labels there could be, ascending: 1,2,3,4,5. (default: those used)"),
    ] = None,
    why: Annotated[
        str | None,
        typer.Option(help="Column that says why the judge gave no label. (default: why1 of v1)"),
    ] = None,
    where: options.Where = None,
    group: Annotated[
        str | None,
        typer.Option(help="Column of groups of dependent units, resampled as a whole."),
    ] = None,
    by: Annotated[str | None, typer.Option(help="Report each value of this column too.")] = None,
    min_n: Annotated[
        int, typer.Option(help="With fewer units, coefficients are UNDEFINED (too_few_units).")
    ] = 20,
    confidence: Annotated[float, typer.Option(help="Two-sided, of the intervals.")] = 0.95,
    replicates: Annotated[int, typer.Option(help="Bootstrap replicates.")] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    floor_n: Annotated[
        int | None, typer.Option(help="Promote only with this many units (100 if not given).")
    ] = None,
    floor_agreement: Annotated[
        float | None,
        typer.Option(help="Promote only if agreement's lower end is this high (.667 if not given)"),
    ] = None,
    coefficient: Annotated[
        str, typer.Option(help="Agreement to promote on: alpha, kappa, ac1, ...")
    ] = "alpha",
    floor_consistency: Annotated[
        float | None,
        typer.Option(help="Promote only if position consistency's lower end is this high."),
    ] = None,
    first: Annotated[
        str | None, typer.Option(help="Column of the winner in the given order.")
    ] = None,
    second: Annotated[
        str | None, typer.Option(help="Column of the winner in the swapped order.")
    ] = None,
    tie: Annotated[
        list[str] | None,
        typer.Option(
            help="What stands for a tie in those columns, beside tie, draw, both, neither; repeatable."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Where the state of the promotion walk goes, JSON; a gate may ask for it "
            "(--require-promoted).",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Agreement of a judge with humans, with intervals; with any --floor-*, the promotion walk.

    Several humans: the judge is measured against a human at random; beside it stands how far the
    humans agree among themselves.

    Exit code 0: good, or promoted. 1: not. 2: bad input. 3: operational failure.
    """
    from riskjudge.agreement import PromotionRecord, promote, rater_agreement, validate_judge
    from riskjudge.agreement.tables import reasons_of

    floors = _floors(floor_n, floor_agreement, floor_consistency, coefficient)
    rows, judge, human = _read(file, id_column, judge, human, where)
    for column in (group, by, first, second, why):
        _check_column(rows, column, file)
    shared: dict[str, Any] = {
        "level": level,
        "categories": None if categories is None else [c.strip() for c in categories.split(",")],
        "min_n": min_n,
        "confidence": confidence,
        "replicates": replicates,
        "seed": seed,
        "groups": None if group is None else rows[group],
    }
    reasons = reasons_of(rows, judge) if why is None else rows[why]

    def validated(units: pd.DataFrame) -> AgreementReport:
        said = None if reasons is None else reasons.loc[units.index]
        return validate_judge(units[judge], units[human], reasons=said, **shared)

    report = validated(rows)
    humans = rater_agreement(rows[human], **shared) if len(human) > 1 else None
    segments = {
        str(value): validated(segment)
        for value, segment in (rows.groupby(by, dropna=False) if by else ())
    }
    position = _position(rows, first, second, tie or ())
    promotion = None if floors is None else promote(report, position, floors=floors)
    if output is not None:
        if promotion is None:
            raise InputError(
                "-o writes the state of a promotion walk: give a floor (--floor-n, ...)"
            )
        PromotionRecord(judge, promotion, _source(rows, judge)).save(output)
    if as_json:
        out = {
            "agreement": report.to_dict(),
            "humans": humans and humans.to_dict(),
            "segments": {name: segment.to_dict() for name, segment in segments.items()},
            "position": position and position.to_dict(),
            "promotion": promotion and promotion.to_dict(),
        }
        options.print_json(out)
    else:
        _print(report, humans, segments, position, promotion)
    passed = report.verdict == "good" if promotion is None else promotion.state == "promoted"
    raise typer.Exit(0 if passed else 1)


def _source(rows: pd.DataFrame, judge: str) -> ScoreSource | None:
    """What made the judge's verdicts, where ``source1`` stands beside ``v1`` and says one thing."""
    from riskjudge.data.source import ScoreSource

    column = f"source{judge[1:]}"
    if not re.fullmatch("v[1-9][0-9]?", judge) or column not in rows.columns:
        return None
    told = rows[column].dropna().unique()
    return ScoreSource.parse(str(told[0])) if len(told) == 1 else None


def _floors(
    n: int | None, agreement: float | None, consistency: float | None, coefficient: str
) -> Floors | None:
    """Floors of the promotion walk, or None if none was asked for."""
    from riskjudge.agreement import Coefficient, Floors

    on = Coefficient.of(coefficient)
    if n is None and agreement is None and consistency is None:
        return None
    usual = Floors()
    return Floors(
        n=usual.n if n is None else n,
        agreement=usual.agreement if agreement is None else agreement,
        consistency=consistency,
        coefficient=on,
    )


def _position(
    rows: pd.DataFrame, first: str | None, second: str | None, ties: Sequence[str]
) -> PositionConsistency | None:
    from riskjudge.agreement import position_consistency

    if first is None and second is None:
        return None
    if first is None or second is None:
        raise InputError("--first and --second go together: a trial has two orders")
    return position_consistency(rows[first], rows[second], ties=ties)


def _read(
    file: Path,
    id_column: str,
    judge: str | None,
    human: list[str] | None,
    where: list[str] | None,
) -> tuple[pd.DataFrame, str, list[str]]:
    """The table, indexed by id, and its columns of the judge's and the humans' labels."""
    from riskjudge.agreement.tables import ARM, one_arm, read_labels

    rows = options.keep_rows(read_labels(file, id_column), where, file)
    if ARM in rows.columns:
        rows = one_arm(rows, judge)
        id_column, judge, human = "item_id", "verdict", human or ["label"]
    if judge is None or not human:
        raise InputError("--judge and --human name the columns of their labels")
    if len({judge, *human}) <= len(human):
        raise InputError("a column was given twice: a rater always agrees with itself")
    for column in (id_column, judge, *human):
        _check_column(rows, column, file)
    return rows.set_index(id_column), judge, human


def _check_column(rows: pd.DataFrame, column: str | None, file: Path) -> None:
    if column is not None and column not in rows.columns:
        have = ", ".join(map(str, rows.columns))
        raise InputError(f"{file}: no column {column!r}; the columns are {have}")


def _print(
    report: AgreementReport,
    humans: AgreementReport | None,
    segments: dict[str, AgreementReport],
    position: PositionConsistency | None,
    promotion: Promotion | None,
) -> None:
    title = f"{report.judge} against {', '.join(report.raters[1:])}, {report.level}"
    merged = [f"read as one label: {', '.join(map(repr, names))}" for names in report.merged]
    options.show(_coefficients(report, title, _evidence(report), *merged))
    if humans is not None:
        title = f"humans alone: {' × '.join(humans.raters)} (a ceiling for the judge)"
        options.show(_coefficients(humans, title))
    if segments:
        options.show(_segments(segments))
    if position is not None:
        typer.echo(_orders(position, report.confidence))
    if promotion is not None:
        options.show(_checks(promotion))
    else:
        said = report.verdict or f"UNDEFINED ({report.alpha.undefined})"
        typer.echo(f"verdict on the evidence (lower end of alpha): {said}")


def _coefficients(report: AgreementReport, title: str, *notes: str) -> Table:
    from riskjudge.agreement import Coefficient
    from riskjudge.display import Table

    rows = []
    for name in Coefficient:
        found = report.estimate(name)
        label = name.replace("_", " ")
        if found.value is None:
            rows.append((label, "UNDEFINED", str(found.undefined), "", ""))
        elif name is Coefficient.PERCENT_AGREEMENT:  # the conventions are for chance-corrected ones
            rows.append((label, _number(found.value), _range(found.low, found.high), "", ""))
        else:
            ends = _range(found.low, found.high)
            verdicts = found.point_verdict or "", found.verdict or ""
            rows.append((label, _number(found.value), ends, *verdicts))
    interval = f"{report.confidence:.0%} interval"
    header = ("coefficient", "value", interval, "at value", "at lower end")
    return Table(title, header, tuple(rows), notes)


def _evidence(report: AgreementReport) -> str:
    grouped = "" if report.groups is None else f" in {report.groups} groups"
    short = f" (need {report.need}, have {report.n})" if report.n < report.need else ""
    said = f"n = {report.n}{grouped}, left out for want of labels: {report.left_out}{short}"
    for what, reasons in (("abstained", report.abstained), ("failed", report.failed)):
        if reasons:
            by_reason = ", ".join(f"{reason} {count}" for reason, count in reasons.items())
            said += f"; the judge {what} on {sum(reasons.values())} labelled units ({by_reason})"
    if report.undecided:
        said += f"; it found no preference on {report.undecided}"
    return said


def _segments(segments: dict[str, AgreementReport]) -> Table:
    from riskjudge.display import Table

    rows = []
    for name, report in segments.items():
        share, alpha = report.percent_agreement, report.alpha
        if report.n < report.need:
            said = f"insufficient: need {report.need}, have {report.n}"
        else:
            said = alpha.verdict or f"UNDEFINED ({alpha.undefined})"
        ends = _range(alpha.low, alpha.high)
        rows.append((name, str(report.n), _number(share.value), _number(alpha.value), ends, said))
    header = ("segment", "n", "agreement", "alpha", "interval", "at lower end")
    return Table("by segment", header, tuple(rows))


def _orders(position: PositionConsistency, confidence: float) -> str:
    ends = position.interval(confidence) or (None, None)
    return (
        f"same winner in both orders: {position.consistent} of {position.trials} trials, "
        f"{_number(position.rate)} ({_range(*ends)}); "
        f"undecided {position.undecided}, failed {position.failed}"
    )


def _checks(promotion: Promotion) -> Table:
    from riskjudge.display import Table

    rows = []
    for check in promotion.checks:
        have = f"UNDEFINED ({check.undefined})" if check.have is None else _number(check.have)
        met = "yes" if check.met else "no"
        rows.append((check.floor, _number(check.need), have, _number(check.point), met))
    header = ("floor", "need", "have (lower end)", "point", "met")
    return Table(f"promotion: {promotion.state}", header, tuple(rows))


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return str(value) if isinstance(value, int) else f"{value:.3f}"


def _range(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"{low:.3f} … {high:.3f}"
