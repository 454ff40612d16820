"""A chat model as a seat, an arm or a stage of composed judges: ``type = "model"`` in their TOML.

Options: `model`; `mode`, the prompt's name (``parametric`` by default; ``comparison`` for pairs);
`base_url`; `key_env`; `prompts`, a folder; `retriever` and `k`; `score` and `samples`; `cache`, a
file of requests and replies; `timeout`; `tries`. Files are relative to the configuration::

    [judges.gpt]
    type = "model"
    model = "gpt-4.1-mini"
    mode = "comparison"
    cache = "replies.sqlite"

    [judges.both-orders]
    type = "pairwise"
    judge = "gpt"
"""

from __future__ import annotations

from collections.abc import Mapping

from riskjudge.judges.config import Builder, Spec
from riskjudge.judges.model import ModelJudge, ModelSettings
from riskjudge.judges.protocol import Judge
from riskjudge.llm.cache import ReplyCache
from riskjudge.llm.client import ModelClient
from riskjudge.llm.endpoint import KEY_VARIABLE, OPENAI_URL, Endpoint
from riskjudge.prompts import load_prompt
from riskjudge.retrieval import make_retriever


def _build_model(spec: Spec) -> Judge:
    endpoint = Endpoint(
        spec.text("base_url", OPENAI_URL),
        key_variable=spec.text("key_env", KEY_VARIABLE),
        timeout=spec.number("timeout", 60.0),
    )
    cache, retriever = spec.path("cache"), spec.text("retriever", None)
    client = ModelClient(
        endpoint, None if cache is None else ReplyCache(cache), tries=spec.integer("tries", 5)
    )
    settings = ModelSettings(
        spec.text("model"),
        spec.text("score", "tokens"),
        samples=spec.integer("samples", 5),
        seed=spec.seed(),
    )
    return ModelJudge(
        client,
        load_prompt(spec.text("mode", "parametric"), spec.path("prompts")),
        settings,
        None if retriever is None else make_retriever(retriever),
        spec.integer("k", 3),
        spec.name,
    )


MODEL_BUILDERS: Mapping[str, Builder] = {"model": _build_model}
"""For :func:`riskjudge.judges.read_judges`."""
