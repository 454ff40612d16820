"""A chat model as a judge: it asks, reads the decision line, and says how unsure the model was."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from riskjudge.data.source import ScoreSource
from riskjudge.data.verdict import (
    BooleanVerdict,
    Failure,
    FailureKind,
    Outcome,
    Undecided,
    Verdict,
    Winner,
    WinnerVerdict,
)
from riskjudge.errors import InputError
from riskjudge.items.item import Item, ShapeError, content_hash
from riskjudge.judges.protocol import Judgement
from riskjudge.llm.chat import ModelError, Reply, Request
from riskjudge.llm.client import ModelClient, Sent
from riskjudge.prompts import Decision, Prompt, Undecidable, fenced_passages
from riskjudge.prompts.decision import Unfinished, is_refusal, rationale_of, without_reasoning
from riskjudge.retrieval.passage import RetrievalError, Retriever
from riskjudge.uncertainty.entropy import NoConfidence, VerdictMass, verdict_mass
from riskjudge.uncertainty.sampling import OutOfRange, Votes, verbalised_confidence
from riskjudge.uncertainty.tokens import tokens_at

SCORES = ("tokens", "samples")
_QUOTED = 300
_LARGEST_SEED = 2**63


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How a model is asked.

    Parameters
    ----------
    model : str
        Its name at the endpoint.
    score : str
        Where the confidence comes from: the verdict's ``tokens`` in one greedy pass, or the share
        of several ``samples``. A prompt that asks the model to state it has the last word.
    max_tokens : int
        Longest reply.
    top_logprobs : int
        Alternatives returned at each token; 20 is the most that OpenAI gives.
    samples : int
        How many, at least two.
    temperature, seed : float, int
        Of ``samples``.
    constrained : bool
        Hold the reply to the decision line by a grammar that llama.cpp understands.
    extra : mapping
        More fields for the request's body.
    """

    model: str
    score: str = "tokens"
    max_tokens: int = 64
    top_logprobs: int = 20
    samples: int = 5
    temperature: float = 1.0
    seed: int = 0
    constrained: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.score not in SCORES:
            raise InputError(f"a score is one of {', '.join(SCORES)}, got {self.score!r}")
        if not self.model.strip():
            raise InputError("a model has a name, got a blank one")
        if self.samples < 2:
            raise InputError(f"at least two samples make a share, got {self.samples}")
        if self.top_logprobs < 1 or self.max_tokens < 1:
            raise InputError("`top_logprobs` and `max_tokens` are at least 1")
        if not 0 <= self.temperature < math.inf:
            raise InputError(f"a temperature is finite and at least 0, got {self.temperature!r}")
        if not 0 <= self.seed < _LARGEST_SEED - self.samples:
            raise InputError(f"a seed is a whole number from 0 on, below 2^63, got {self.seed!r}")

    @property
    def facts(self) -> Mapping[str, Any]:
        """What of all this shapes a reply, as facts about a score's source."""
        said: dict[str, Any] = {"model": self.model, "max_tokens": self.max_tokens}
        if self.constrained:
            said["constrained"] = True
        for name, value in self.extra.items():
            # Whatever is sent beside our own fields, or takes one of them away.
            said[f"extra.{name}"] = value if isinstance(value, str) else json.dumps(value)
        return said

    def samples_for(self, prompt: Prompt) -> int:
        """Calls that one judgement with this prompt takes."""
        return self.samples if self.score == "samples" and not prompt.verbalised else 1

    def request(self, prompt: Prompt, messages: tuple[Mapping[str, str], ...]) -> Request:
        """The greedy request, or the first of the samples."""
        sampled = self.samples_for(prompt) > 1
        held = self.constrained and not prompt.verbalised
        grammar = {"grammar": prompt.grammar} if held else {}
        return Request(
            self.model,
            messages,
            self.max_tokens,
            self.temperature if sampled else 0.0,
            None if sampled or prompt.verbalised else self.top_logprobs,
            self.seed if sampled else None,
            {**grammar, **self.extra},
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply that was read: the decision, and what the model gave to it."""

    reply: str
    decision: Decision
    mass: VerdictMass | NoConfidence


@dataclass(frozen=True, slots=True)
class ModelJudge:
    """Asks a chat model about an item.

    The judgement discloses the prompt with its hash, the model, the reply, `p_true` (the model's
    belief in the first label) with the label mass behind it, and the evidence that was shown. Where
    there is a verdict and no confidence, `confidence_missing` says why.

    Parameters
    ----------
    client : ModelClient
        Asks.
    prompt : Prompt
        What is asked; its name is the judge's mode.
    settings : ModelSettings
        How it is asked.
    retriever : Retriever, optional
        Where the evidence comes from; needed by a prompt with passages.
    k : int
        How many passages.
    name : str
        The judge's; the model's by default.
    """

    client: ModelClient
    prompt: Prompt
    settings: ModelSettings
    retriever: Retriever | None = None
    k: int = 3
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.settings.model)
        if self.prompt.needs("passages") and self.retriever is None:
            raise InputError(f"the prompt {self.prompt.name!r} needs a retriever")
        if not isinstance(self.k, int) or self.k < 1:
            raise InputError(f"k, the number of passages, is 1 or more, got {self.k!r}")

    @property
    def mode(self) -> str:
        """The prompt's name."""
        return self.prompt.name

    def __call__(self, item: Item) -> Judgement:
        values, disclosure, sent = self._values(item), dict(self.identity), Sent()
        try:
            values |= self._evidence(item, disclosure)
            judgement = self._judge(self.prompt.messages(**values), disclosure, sent)
        except (ModelError, RetrievalError) as error:
            judgement = Judgement(error.failure, disclosure=disclosure)
        return replace(judgement, calls=sent.calls)

    def check(self, item: Item) -> None:
        """Refuse an item of the wrong shape, without asking.

        Parameters
        ----------
        item : Item
            What is to be judged.

        Raises
        ------
        ShapeError
            If it has another number of responses than the prompt takes, or lacks the references.
        """
        self._values(item)

    def _values(self, item: Item) -> dict[str, str]:
        pair = self.prompt.needs("other")
        if len(item.responses) != (2 if pair else 1):
            wanted = "two responses" if pair else "one response"
            raise ShapeError(f"item {item.id!r}: the prompt {self.prompt.name!r} takes {wanted}")
        if self.prompt.needs("verdict"):
            raise ShapeError(
                f"the prompt {self.prompt.name!r} reviews a verdict, and there is none"
            )
        if self.prompt.needs("references") and not item.references:
            raise ShapeError(f"item {item.id!r} has no reference answer to compare with")
        return {
            "question": item.prompt,
            "candidate": item.responses[0],
            "other": item.responses[-1],
            "references": "\n".join(f"- {text}" for text in item.references),
        }

    @property
    def source(self) -> ScoreSource:
        """What makes this judge's scores; each judgement discloses it."""
        settings, facts = self.settings, {**self.settings.facts, "endpoint": self.client.where}
        facts |= {"prompt": self.prompt.id, "measure": measure_of(self)}
        if self.prompt.verbalised:
            facts["score"] = "verbalised"
        elif settings.samples_for(self.prompt) > 1:
            facts |= {"score": "samples", "samples": settings.samples}
        else:
            facts |= {"score": "tokens", "top_logprobs": settings.top_logprobs}
        sampled = settings.samples_for(self.prompt) > 1
        facts["temperature"] = settings.temperature if sampled else 0.0
        if self.retriever is not None and self.prompt.needs("passages"):
            facts |= {"retriever": self.retriever.describe(), "k": self.k}
            if corpus := _corpus(self.retriever):
                facts["corpus"] = corpus
        return ScoreSource(facts)

    @property
    def identity(self) -> Mapping[str, Any]:
        """The source, and the parts of it that a reader of a ledger looks for first."""
        source = self.source
        named = ("prompt", "model", "retriever", "k")
        parts = {name: source[name] for name in named if name in source}
        if source["score"] == "samples":
            parts["score"] = f"{source['samples']} samples"
        return {**parts, "source": dict(source)}

    def _evidence(self, item: Item, disclosure: dict[str, Any]) -> dict[str, str]:
        if self.retriever is None or not self.prompt.needs("passages"):
            return {}
        passages = self.retriever.search(item.prompt, self.k)
        disclosure["passages"] = [passage.url for passage in passages]
        fenced = fenced_passages(passages)
        disclosure["evidence"] = content_hash(fenced)
        return {"passages": fenced}

    def _judge(
        self, messages: tuple[Mapping[str, str], ...], disclosure: dict[str, Any], sent: Sent
    ) -> Judgement:
        request = self.settings.request(self.prompt, messages)
        if self.settings.samples_for(self.prompt) > 1:
            return self._sampled(request, disclosure, sent)
        answer = self.client.ask(request, self.read, sent)
        disclosure["reply"] = answer.reply[:_QUOTED]
        if said := rationale_of(answer.reply, answer.decision):
            disclosure["rationale"] = said  # whole: people read it
        if self.prompt.verbalised:
            return self._verbalised(answer, disclosure)
        first = self._affirms(answer)
        outcome = self._verdict(first)
        if isinstance(answer.mass, NoConfidence):
            disclosure["confidence_missing"] = answer.mass.reason
            return Judgement(outcome, disclosure=disclosure, order=self._order)
        disclose_mass(answer.mass, disclosure)
        confidence = answer.mass.p_first if first else 1.0 - answer.mass.p_first
        return Judgement(outcome, confidence, disclosure, order=self._order)

    def read(self, reply: Reply) -> Answer:
        """Read a reply.

        Raises
        ------
        ModelError
            ``parse``, if it has no decision line; ``refusal``, if it declines instead; ``truncated``,
            if its reasoning does not end; ``out_of_range``, if the confidence that it states is off
            the scale.
        """
        try:
            decision = self.prompt.read(reply.text)
            if self.prompt.verbalised:
                verbalised_confidence(without_reasoning(reply.text))
        except Unfinished as error:
            raise ModelError(FailureKind.TRUNCATED, f"{error}: {reply.text[-120:]!r}") from None
        except Undecidable as error:
            kind = FailureKind.REFUSAL if is_refusal(reply.text) else FailureKind.PARSE
            raise ModelError(kind, f"{error}: {reply.text[:_QUOTED]!r}") from None
        except OutOfRange as error:
            raise ModelError(FailureKind.OUT_OF_RANGE, str(error)) from None
        if reply.tokens is None:
            return Answer(reply.text, decision, NoConfidence("no logprobs in the reply"))
        spelled = tokens_at(reply.tokens, reply.text, decision.start, decision.end)
        return Answer(
            reply.text, decision, verdict_mass(spelled, decision.label, self.prompt.labels)
        )

    def _verdict(self, first: bool) -> Verdict:
        if self.prompt.needs("other"):
            return WinnerVerdict(Winner.A if first else Winner.B)
        return BooleanVerdict(first)

    @property
    def _order(self) -> str | None:
        return "ab" if self.prompt.needs("other") else None

    def _affirms(self, answer: Answer) -> bool:
        return answer.decision.label == self.prompt.labels[0]

    def _verbalised(self, answer: Answer, disclosure: dict[str, Any]) -> Judgement:
        outcome = self._verdict(self._affirms(answer))
        confidence = verbalised_confidence(without_reasoning(answer.reply))
        if isinstance(confidence, NoConfidence):
            disclosure["confidence_missing"] = confidence.reason
            return Judgement(outcome, disclosure=disclosure, order=self._order)
        return Judgement(outcome, confidence, disclosure, order=self._order)

    def _sampled(self, request: Request, disclosure: dict[str, Any], sent: Sent) -> Judgement:
        """Ask several times; a sample that cannot be read is a seat that did not vote.

        It counts among the seats: a verdict that some of the samples never gave is less sure.
        """
        votes: list[bool | None] = []
        failures: list[Failure] = []
        for number in range(self.settings.samples):
            try:
                answer = self.client.ask(request.for_sample(number), self.read, sent)
                votes.append(self._affirms(answer))
            except ModelError as error:
                votes.append(None)
                failures.append(error.failure)
                if error.stops:
                    # Not one of K votes: the question is asked again when there is a budget.
                    raise
        said = Votes(tuple(votes))
        disclosure |= {"samples": votes}
        outcome: Outcome = failures[0] if failures else Undecided()
        confidence = None
        if said.verdict is not None:
            outcome = self._verdict(said.verdict)
            confidence = said.support
            disclosure["p_true"] = confidence if said.verdict else 1.0 - confidence
        return Judgement(outcome, confidence, disclosure, self.settings.seed, self._order)


@dataclass(frozen=True, slots=True)
class SelfEvaluatingJudge:
    """Asks for a verdict, then asks the model whether that verdict is right.

    The verdict is the first pass's, the confidence the second's (the model's belief that the
    verdict is right, which may be under a half), as in the paper's self-evaluation baseline.

    Parameters
    ----------
    judge : ModelJudge
        The first pass.
    prompt : Prompt
        Of the second pass; sees the verdict as ``$verdict``.
    """

    judge: ModelJudge
    prompt: Prompt
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.judge.name)

    @property
    def mode(self) -> str:
        """The prompt's name."""
        return self.prompt.name

    @property
    def source(self) -> ScoreSource:
        """As that of :class:`ModelJudge`, of both passes."""
        first, second = self.judge.source, self._second.source
        parts = {f"first_{name}": first[name] for name in ("prompt", "score")}
        return ScoreSource({**first, **second, **parts, "measure": measure_of(self)})

    @property
    def identity(self) -> Mapping[str, Any]:
        """The source, and the parts of it that a reader of a ledger looks for first."""
        first = self.judge.identity
        parts = {"prompt": self.prompt.id, "first_prompt": first["prompt"]}
        return {**first, **parts, "source": dict(self.source)}

    def check(self, item: Item) -> None:
        """As that of :class:`ModelJudge`."""
        self.judge.check(item)

    @property
    def _second(self) -> ModelJudge:
        # One greedy pass: the belief in the verdict is read off its tokens.
        settings = replace(self.judge.settings, score="tokens")
        return ModelJudge(self.judge.client, self.prompt, settings)

    def __call__(self, item: Item) -> Judgement:
        first = self.judge(item)
        verdict = first.outcome
        if not isinstance(verdict, BooleanVerdict):
            return first
        second, sent = self._second, Sent()
        said = self.judge.prompt.labels[0 if verdict.value else 1]
        messages = self.prompt.messages(
            question=item.prompt, candidate=item.responses[0], verdict=said
        )
        disclosure = dict(self.identity)
        try:
            request = second.settings.request(self.prompt, messages)
            answer = self.judge.client.ask(request, second.read, sent)
        except ModelError as error:
            calls = first.calls + sent.calls
            return Judgement(error.failure, disclosure=disclosure, calls=calls)
        disclosure["reply"] = answer.reply[:_QUOTED]
        confidence = None
        if isinstance(answer.mass, NoConfidence):
            disclosure["confidence_missing"] = answer.mass.reason
        else:
            disclose_mass(answer.mass, disclosure)
            confidence = answer.mass.p_first
            if not verdict.value:
                disclosure |= {"p_true": 1.0 - confidence, "log_odds": -answer.mass.log_odds}
        return Judgement(verdict, confidence, disclosure, calls=first.calls + sent.calls)


def disclose_mass(mass: VerdictMass, disclosure: dict[str, Any]) -> None:
    """Write down what the model gave to the labels."""
    disclosure |= {
        "p_true": mass.p_first,
        "log_odds": mass.log_odds,
        "label_mass": mass.mass,
    }
    if mass.bounded:
        disclosure["label_bounded"] = True


def _corpus(retriever: Retriever) -> str:
    """The digest of what a source can find, where it has one; several kinds of source do."""
    return str(getattr(retriever, "fingerprint", ""))[:16]


def measure_of(judge: ModelJudge | SelfEvaluatingJudge) -> str:
    """The uncertainty measure that suits a judge's disclosures, by its name in a trace.

    Entropy is the paper's. It cannot tell a self-evaluation that doubts its verdict from one that
    believes in it, nor is there a distribution behind a number that was stated: there, it is 1
    minus the confidence.
    """
    stated = isinstance(judge, ModelJudge) and judge.prompt.verbalised
    doubted = isinstance(judge, SelfEvaluatingJudge)
    return "confidence" if stated or doubted else "predictive_entropy"
