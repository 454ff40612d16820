"""The forms of the question by name: parametric, retrieval and the rest, as judges."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from riskjudge.errors import InputError
from riskjudge.judges.model import ModelJudge, ModelSettings, SelfEvaluatingJudge
from riskjudge.llm.client import ModelClient
from riskjudge.prompts import load_prompt
from riskjudge.retrieval.passage import Retriever

EVALUATOR = "reference_evaluator"
"""The mode whose verdict serves as a label."""


def make_judges(
    client: ModelClient,
    modes: Sequence[str],
    settings: ModelSettings,
    *,
    retriever: Retriever | None = None,
    k: int = 3,
    prompts: str | Path | None = None,
) -> list[ModelJudge | SelfEvaluatingJudge]:
    """A judge for each mode, in the order given.

    Parameters
    ----------
    client, settings : ModelClient, ModelSettings
        Who is asked, and how.
    modes : sequence of str
        Names of prompts; ``self_evaluation`` reviews the verdicts of ``parametric``.
    retriever, k : Retriever or None, int
        Evidence for the modes that need it.
    prompts : str or path, optional
        A folder whose files go before those that ship.

    Raises
    ------
    InputError
        If a mode is unknown, named twice, or needs a retriever and there is none.
    """
    for mode in modes:
        if modes.count(mode) > 1:
            raise InputError(f"the mode {mode!r} is named twice")
    if not modes:
        raise InputError("no mode is named; parametric, say")

    def judge(name: str) -> ModelJudge | SelfEvaluatingJudge:
        prompt = load_prompt(name, prompts)
        if prompt.needs("verdict"):
            first = ModelJudge(client, load_prompt("parametric", prompts), settings)
            return SelfEvaluatingJudge(first, prompt)
        return ModelJudge(client, prompt, settings, retriever, k)

    return [judge(mode) for mode in modes]
