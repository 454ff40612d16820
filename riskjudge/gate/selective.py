"""A gate over one mode."""

from __future__ import annotations

from typing import ClassVar

from riskjudge.calibration import Procedure
from riskjudge.data.trace import Trace
from riskjudge.gate.path import PathSource
from riskjudge.gate.router import Router


class SelectiveGate(Router):
    """A router of one mode: accept its verdicts where they are sure enough.

    Parameters
    ----------
    alpha, delta, procedure, path, by_verdict, groups, unfitted, seed : object
        As in :class:`Router`.
    alpha_pass, alpha_fail, min_tpr, min_tnr : object
        As in :class:`Router`.
    mode : str, optional
        Which of the trace's modes; the first by default.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> u = rng.random((2000, 1))
    >>> label = rng.integers(0, 2, 2000)
    >>> verdict = label[:, None] ^ (rng.random((2000, 1)) < 0.4 * u)
    >>> gate = SelectiveGate(alpha=0.1).fit(Trace.from_arrays(u, verdict, label))
    >>> gate.certificate_.certified, str(gate.certificate_.guarantee)
    (True, 'high_probability')
    """

    kind: ClassVar[str] = "selective_gate"

    def __init__(
        self,
        alpha: float = 0.1,
        delta: float = 0.05,
        *,
        mode: str | None = None,
        procedure: str | Procedure | None = None,
        path: PathSource | None = None,
        by_verdict: bool = False,
        groups: str = "refuse",
        unfitted: str = "pass",
        seed: int = 0,
        alpha_pass: float | None = None,
        alpha_fail: float | None = None,
        min_tpr: float | None = None,
        min_tnr: float | None = None,
    ) -> None:
        super().__init__(
            alpha,
            delta,
            procedure=procedure,
            path=path,
            by_verdict=by_verdict,
            groups=groups,
            unfitted=unfitted,
            seed=seed,
            alpha_pass=alpha_pass,
            alpha_fail=alpha_fail,
            min_tpr=min_tpr,
            min_tnr=min_tnr,
        )
        self.mode = mode

    def _modes(self, trace: Trace) -> tuple[str, ...]:
        return (self.mode if self.mode is not None else trace.modes[0],)
