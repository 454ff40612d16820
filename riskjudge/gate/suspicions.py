"""What a person should look at before a certificate on these labels is believed."""

from __future__ import annotations

import re

from riskjudge.data.trace import Trace

_DEPENDENT = re.compile(
    r"(.+[_\- ])?(question|prompt|query|doc|document|passage|conversation|dialog|dialogue|session|thread"
    r"|user|author|patient|case|article|instruction|problem|source|topic|page|cluster|group|family)"
    r"s?([_\- ]?(id|ids|no|nr|number|key|hash|index))?"
)
# The names of those that judged or answered: they repeat by design.
_OTHERS = re.compile(
    r".*(judge|model|system|annotator|rater|worker|grader|batch|run|split|item|row|version|label"
    r"|class|category|config|trial)s?[_\- ]?(id|ids)?"
)


def suspicions(trace: Trace) -> list[str]:
    """Notes on what a person should look at before a certificate on these labelled items is believed.

    Parameters
    ----------
    trace : Trace
        Labelled items.

    Returns
    -------
    list of str
        Columns that repeat and look like groups, verdicts that equal the label throughout, and
        modes that share their verdicts.
    """
    notes = []
    if trace.group is None:
        for name in map(str, trace.extra.columns):
            values = trace.extra[name].dropna()
            if _looks_like_a_group(name) and values.nunique() < len(values):
                notes.append(
                    f"the column {name!r} has {values.nunique()} values on {len(values)} items: if items "
                    f"that share one depend on one another, name it as the group (--group {name}); "
                    "otherwise the certificate counts them as independent"
                )
    for k, mode in enumerate(trace.columns):
        usable = trace.verdicts[:, k] >= 0
        if usable.sum() >= _ENOUGH and (trace.verdicts == trace.labels[:, None])[usable, k].all():
            notes.append(
                f"{mode.name}: all {usable.sum()} verdicts equal their labels; is {mode.verdict!r} a copy "
                "of the label?"
            )
        for other in trace.columns[:k]:
            if other.verdict == mode.verdict:
                notes.append(f"{other.name} and {mode.name} share the verdicts of {mode.verdict!r}")
    return notes


_ENOUGH = 20


def _looks_like_a_group(name: str) -> bool:
    spelled = re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()
    if _OTHERS.fullmatch(spelled):
        return False
    return bool(_DEPENDENT.fullmatch(spelled) or re.fullmatch(r".+[_\- ](id|ids)", spelled))
