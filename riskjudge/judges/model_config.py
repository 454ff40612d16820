"""A chat model as a seat, an arm or a stage of composed judges: ``type = "model"`` in their TOML.

Options: `model`; `mode`, the prompt's name (``parametric`` by default; ``comparison`` for pairs);
`base_url`; `key_env`; `prompts`, a folder; `retriever` and `k`; `score`, `samples`, `temperature` and
`seed`; `reply_tokens`; `top_logprobs`; `constrained`; `extra_body`, a table; `cache`, a file of
requests and replies; `timeout`; `tries`. Files are relative to the configuration::

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

from dataclasses import replace

from riskjudge.judges.model import ModelSettings
from riskjudge.judges.modes import make_judges
from riskjudge.judges.protocol import Judge
from riskjudge.judges.spec import Spec
from riskjudge.llm.cache import ReplyCache
from riskjudge.llm.client import ModelClient
from riskjudge.llm.endpoint import KEY_VARIABLE, OPENAI_URL, Endpoint
from riskjudge.retrieval import make_retriever


def build_model(spec: Spec) -> Judge:
    """The judge that a table describes.

    Parameters
    ----------
    spec : Spec
        The table.

    Returns
    -------
    Judge
    """
    settings = ModelSettings(
        spec.text("model"),
        spec.text("score", "tokens"),
        max_tokens=spec.integer("reply_tokens", 64),
        top_logprobs=spec.integer("top_logprobs", 20),
        samples=spec.integer("samples", 5),
        temperature=spec.number("temperature", 1.0),
        seed=spec.seed(),
        constrained=spec.boolean("constrained", False),
        extra=spec.table("extra_body"),
    )
    mode, prompts, k = spec.text("mode", "parametric"), spec.path("prompts"), spec.integer("k", 3)
    retriever, cache = spec.text("retriever", None), spec.path("cache")
    endpoint = Endpoint(
        spec.text("base_url", OPENAI_URL),
        key_variable=spec.text("key_env", KEY_VARIABLE),
        timeout=spec.number("timeout", 60.0),
    )
    client = ModelClient(
        endpoint,
        None if cache is None else ReplyCache(cache),
        spec.budget,
        spec.rate,
        spec.integer("tries", 5),
    )
    source = None if retriever is None else make_retriever(_resolved(spec, retriever))
    (judge,) = make_judges(client, [mode], settings, retriever=source, k=k, prompts=prompts)
    return replace(judge, name=spec.name)


def _resolved(spec: Spec, retriever: str) -> str:
    """The retriever with its file relative to the configuration."""
    name, colon, where = retriever.partition(":")
    if name in ("bm25", "snapshot") and where:
        return f"{name}{colon}{spec.folder / where}"
    return retriever
