"""The options that say which model is asked, and how; the commands that ask one share them."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from riskjudge.cli import completion
from riskjudge.errors import InputError

if TYPE_CHECKING:
    from riskjudge.judges.judging import AnyModelJudge
    from riskjudge.llm import Budget, RateLimit
    from riskjudge.retrieval.passage import Retriever

_PANEL = "The model"
_LIMITS = "Limits"


def _option(*names: str, help: str, panel: str = _PANEL, choices: Sequence[str] = ()) -> Any:
    offered = completion.one_of(*choices) if choices else None
    return typer.Option(*names, help=help, rich_help_panel=panel, autocompletion=offered)


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """What the shared options were given as."""

    modes: Annotated[
        str, _option(help="Forms of the question, in the order of asking, with commas.")
    ] = "parametric,retrieval"
    model: Annotated[
        str | None, _option(help="Its name at the endpoint; with --local, a GGUF file.")
    ] = None
    base_url: Annotated[
        str | None, _option(help="OpenAI-compatible endpoint. (default: OpenAI's own)")
    ] = None
    key_env: Annotated[str, _option(help="Environment variable that holds the key.")] = (
        "OPENAI_API_KEY"
    )
    local: Annotated[
        bool, _option("--local", help="Start a llama.cpp server here, and stop it afterwards.")
    ] = False
    retriever: Annotated[
        str | None, _option(help="Source of evidence: bm25:passages.jsonl, ddgs:, snapshot:FILE …")
    ] = None
    k: Annotated[int, _option("-k", help="Passages shown.")] = 3
    snapshot: Annotated[
        Path | None, _option(help="Keep the search results here, and replay those it has.")
    ] = None
    prompts: Annotated[
        Path | None, _option(help="Folder of your own prompts; they go before ours.")
    ] = None
    score: Annotated[
        str,
        _option(
            help="Confidence from the verdict's tokens, or from several samples.",
            choices=("tokens", "samples"),
        ),
    ] = "tokens"
    samples: Annotated[int, _option(help="How many, with --score samples.")] = 5
    temperature: Annotated[float, _option(help="Of the samples.")] = 1.0
    reply_tokens: Annotated[int, _option(help="Longest reply.")] = 64
    top_logprobs: Annotated[int, _option(help="Alternatives asked for at each token.")] = 20
    extra_body: Annotated[
        str | None, _option(help="JSON object: more fields of the request; null takes one away.")
    ] = None
    sampling_seed: Annotated[int, _option(help="Seed of the first sample.")] = 0
    cache: Annotated[
        Path | None, _option(help="Requests and replies, SQLite. (default: beside the output)")
    ] = None
    concurrency: Annotated[int, _option(help="Calls under way at once.", panel=_LIMITS)] = 8
    rate: Annotated[
        float | None, _option(help="Most calls started in a second.", panel=_LIMITS)
    ] = None
    timeout: Annotated[
        float, _option(help="Seconds without a byte until a call fails.", panel=_LIMITS)
    ] = 60.0
    tries: Annotated[
        int, _option(help="Of a call, after time-outs, 429 and 5xx.", panel=_LIMITS)
    ] = 5
    max_calls: Annotated[int | None, _option(help="Budget of calls.", panel=_LIMITS)] = None
    max_tokens: Annotated[
        int | None, _option(help="Budget of tokens, in and out.", panel=_LIMITS)
    ] = None
    max_money: Annotated[
        float | None, _option(help="Budget in the prices' currency.", panel=_LIMITS)
    ] = None
    price_in: Annotated[float, _option(help="Of a million tokens in.", panel=_LIMITS)] = 0.0
    price_out: Annotated[float, _option(help="Of a million tokens out.", panel=_LIMITS)] = 0.0

    @property
    def mode_names(self) -> list[str]:
        """The modes as a list."""
        return [mode.strip() for mode in self.modes.split(",") if mode.strip()]

    @property
    def extra(self) -> dict[str, Any]:
        """The further fields of the request."""
        try:
            found = json.loads(self.extra_body or "{}")
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise InputError(f"--extra-body takes a JSON object, got {self.extra_body!r}")
        return found

    def budget(self) -> Budget:
        """What may be spent."""
        from riskjudge.llm import Budget

        limits = self.max_calls, self.max_tokens, self.max_money
        return Budget(*limits, self.price_in, self.price_out)

    def rate_limit(self) -> RateLimit | None:
        """How fast calls may start."""
        from riskjudge.llm import RateLimit

        return None if self.rate is None else RateLimit(self.rate)

    def refuse_beside(self, other: str) -> None:
        """Refuse the options that say how a model is asked, where something else says it."""
        for field in fields(self):
            limit = field.name in _SHARED
            if not limit and getattr(self, field.name) != field.default:
                option = "-k" if field.name == "k" else f"--{field.name.replace('_', '-')}"
                raise InputError(
                    f"{option} has no effect with {other}, whose judges say it themselves"
                )


_SHARED = ("max_calls", "max_tokens", "max_money", "price_in", "price_out", "rate", "concurrency")


def with_model_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that takes ``models: ModelOptions`` one option for each of its fields."""
    hints = get_type_hints(ModelOptions, include_extras=True)
    own = inspect.signature(command, eval_str=True)
    spread = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=hints[field.name],
        )
        for field in fields(ModelOptions)
    ]
    kept = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in own.parameters.items()
        if name != "models"
    ]

    @functools.wraps(command)
    def wrapper(**given: Any) -> None:
        models = ModelOptions(
            **{field.name: given.pop(field.name) for field in fields(ModelOptions)}
        )
        command(**given, models=models)

    parameters = [*kept, *spread]
    wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return wrapper


@contextmanager
def open_judges(
    options: ModelOptions,
    cache: Path,
    budget: Budget,
    *,
    evaluator: bool = False,
    label_model: str | None = None,
) -> Iterator[tuple[list[AnyModelJudge], list[AnyModelJudge]]]:
    """A judge for each mode, and an evaluator if one is wanted, with all they need, until the end.

    Parameters
    ----------
    options
        What was asked for.
    cache
        Where requests and replies are kept, if the options do not say.
    budget
        What may be spent by all of them.
    evaluator
        Whether labels are asked for.
    label_model
        Who gives them; the judge's own model by default.
    """
    from riskjudge.judges.model import ModelSettings
    from riskjudge.judges.modes import EVALUATOR, make_judges
    from riskjudge.llm import Endpoint, LocalServer, ModelClient, ReplyCache
    from riskjudge.llm.endpoint import OPENAI_URL

    if options.concurrency < 1:
        raise InputError(f"--concurrency is at least 1, got {options.concurrency}")
    with ExitStack() as stack:
        retriever = _retriever(options, stack)
        base_url, model = options.base_url or OPENAI_URL, options.model
        if options.local:
            if options.base_url is not None:
                raise InputError("--local starts an endpoint of its own; leave out --base-url")
            if label_model is not None:
                raise InputError("--local serves one model; leave out --label-model")
            server = LocalServer(model)
            model = server.model
        if model is None:
            raise InputError("name the model: --model NAME, or --local for a small one here")
        settings = ModelSettings(
            model,
            options.score,
            options.reply_tokens,
            options.top_logprobs,
            options.samples,
            options.temperature,
            options.sampling_seed,
            constrained=options.local,
            extra=options.extra,
        )
        if options.local:
            base_url = stack.enter_context(server).base_url
        endpoint = Endpoint(base_url, key_variable=options.key_env, timeout=options.timeout)
        stack.callback(endpoint.close)
        replies = stack.enter_context(ReplyCache(options.cache or cache))
        # A local server has another port each time; what it says depends on its model alone.
        where = f"local:{model}" if options.local else None
        rate = options.rate_limit()
        client = ModelClient(endpoint, replies, budget, rate, options.tries, where)
        shared: dict[str, Any] = {"k": options.k, "prompts": options.prompts}
        judges = make_judges(client, options.mode_names, settings, retriever=retriever, **shared)
        labeller = replace(settings, model=label_model or model, score="tokens")
        yield judges, make_judges(client, [EVALUATOR], labeller, **shared) if evaluator else []


def _retriever(options: ModelOptions, stack: ExitStack) -> Retriever | None:
    from riskjudge.retrieval import Recorder, make_retriever

    if options.retriever is None:
        if options.snapshot is not None:
            raise InputError("--snapshot keeps what a --retriever finds; name one")
        return None
    retriever = make_retriever(options.retriever)
    if options.snapshot is None:
        return retriever
    return stack.enter_context(Recorder(retriever, options.snapshot))
