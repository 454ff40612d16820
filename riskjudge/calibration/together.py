"""Several certificates that hold together: one for each group, delta for all of them.

Each group has labelled rows, a plan and a share of delta of its own: with G groups a share 1/G. The
plans are tested as *one* family (:mod:`riskjudge.calibration.plan`): a chain that is through hands
its share on to all that still wait, so that groups in which everything can be accepted help those in
which little can. With one rule a group this is Holm's procedure over the groups.

Why it is valid
---------------
A hypothesis is a pair (group, threshold vector): "among the group's items this rule's risk exceeds
alpha". Its p-value is computed from the group's own rows, and given the group sizes these are
independent draws from the group, so ``P(p <= x) <= x`` under the null. The plans are fixed before
the tested labels are seen, each from its group's reserved rows and pool. The proof of
:mod:`riskjudge.calibration.plan` asks for nothing more: it is a union bound over the delta parked on
true nulls, and does not care from which rows a p-value comes. So, except with probability delta,
*no* group's certified rule has a risk above alpha in its group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from riskjudge import counts
from riskjudge.calibration.certificate import Certificate
from riskjudge.calibration.make_certificate import make_certificate
from riskjudge.calibration.plan import Family, Plan, Target, Tested, pass_weights, rule_p_values
from riskjudge.calibration.procedure import PlannedProcedure, Procedure
from riskjudge.calibration.sample import Sample
from riskjudge.calibration.selection import choose
from riskjudge.errors import InputError


def certify_together(
    procedure: Procedure, samples: Mapping[str, Sample], target: Target, seed: int = 0
) -> dict[str, Certificate]:
    """A certificate for each group; all of them hold together with confidence ``1 - delta``.

    Parameters
    ----------
    procedure : PlannedProcedure
        Plans each group.
    samples : mapping of str to Sample
        Labelled items of each group, over the same modes.
    target : Target
        `delta` is that of all groups together.
    seed : int
        Seeds whatever is drawn at random.

    Examples
    --------
    >>> from riskjudge.calibration import Portfolio
    >>> rng = np.random.default_rng(0)
    >>> def group(rate):
    ...     scores = rng.random((400, 1))
    ...     wrong = (rng.random((400, 1)) < rate * scores).astype(int)
    ...     return Sample(scores, wrong, np.zeros(400, int), ("judge",))
    >>> found = certify_together(Portfolio(), {"x": group(0.0), "y": group(0.25)}, Target(0.1, 0.05))
    >>> {name: (round(c.coverage, 1), c.level) for name, c in found.items()}
    {'x': (0.9, 0.025), 'y': (0.4, 0.025)}
    """
    if not isinstance(procedure, PlannedProcedure):
        raise InputError(
            f"certificates that hold together need a procedure that plans its tests, not "
            f"{procedure.name!r}"
        )
    share = 1.0 / max(len(samples), 1)
    alone = replace(target, delta=target.delta * share)
    plans = {name: procedure.planner(sample, seed)(alone) for name, sample in samples.items()}
    tested = run_together(plans, target)
    found = {}
    for name, sample in samples.items():
        chosen = choose(
            plans[name], tested[name], sample, alone, procedure.objective, procedure.min_coverage
        )
        found[name] = make_certificate(
            chosen,
            sample,
            target,
            procedure=procedure.name,
            guarantee=procedure.guarantee,
            options=procedure.options(),
            seed=seed,
        )
    return found


def run_together(plans: Mapping[str, Plan], target: Target) -> dict[str, list[Tested]]:
    """Test the plans of all groups as one family, each group at an equal share of delta."""
    families: list[tuple[str, Family]] = [
        (name, family) for name, plan in plans.items() for family in plan.families if family.chains
    ]
    result: dict[str, list[Tested]] = {name: [] for name in plans}
    if not families:
        return result
    tallies, marked, p_values, lengths, weights = [], [], [], [], []
    for number, (_, family) in enumerate(families):
        path = np.concatenate([chain.path for chain in family.chains])
        tallied = counts.path_counts(family.sample.scores, family.sample.errors, path)
        tallies.append(tallied)
        p_values.append(rule_p_values(tallied, family.sample, target))
        # Equal thresholds in two groups are two hypotheses: the number tells them apart.
        marked.append(np.column_stack((np.full(len(path), float(number)), path)))
        lengths += [len(chain.path) for chain in family.chains]
        weights += [chain.weight * family.share / len(plans) for chain in family.chains]
    levels, waiting = pass_weights(
        np.concatenate(marked), np.concatenate(p_values), lengths, weights, target.delta
    )
    row = chain = 0
    for (name, family), tallied in zip(families, tallies, strict=True):
        rows, chains = slice(row, row + len(tallied)), slice(chain, chain + len(family.chains))
        result[name].append(
            Tested(family.sample, tallied, levels[rows], waiting[chains], family.chains)
        )
        row, chain = rows.stop, chains.stop
    return result
