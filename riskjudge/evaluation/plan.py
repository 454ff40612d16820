"""A plan of labels as a table."""

from __future__ import annotations

from riskjudge.calibration.power import LabelPlan
from riskjudge.display.table import Table, percent


def plan_table(plan: LabelPlan) -> Table:
    """Labels needed."""
    rows = [("accepted items, no error among them", f"{plan.accepted_without_error}")]
    if plan.error_rate is not None:
        rate = percent(plan.error_rate)
        none = (
            "no number would do: the error rate is not below alpha"
            if plan.error_rate >= plan.alpha
            else "more than anybody would label: the rate is all but alpha"
        )
        rows += [
            (f"accepted items, {rate} of them wrong", f"{plan.accepted or none}"),
            (
                f"accepted items to certify with probability {plan.power:g}, true error rate {rate}",
                f"{plan.accepted_with_power or none}",
            ),
            (
                f"labels to certify with probability {plan.power:g}, coverage {percent(plan.coverage)}",
                f"{plan.labels_with_power or none}",
            ),
        ]
    rows.append((f"labels, coverage {percent(plan.coverage)}", f"{plan.labels or 'none would do'}"))
    return Table(
        f"Labels needed for alpha = {plan.alpha:g}, delta = {plan.delta:g}",
        ("", "fewest"),
        tuple(rows),
        ("For one rule fixed in advance; a search over rules takes more.",),
    )
