"""A chat model as a judge: it asks, reads the decision line, and says how unsure the model was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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
from riskjudge.items.item import Item, ShapeError
from riskjudge.judges.protocol import Judgement
from riskjudge.llm.chat import ModelError, Reply, Request
from riskjudge.llm.client import ModelClient
from riskjudge.prompts import Decision, Prompt, Undecidable, fenced_passages
from riskjudge.retrieval.passage import RetrievalError, Retriever
from riskjudge.uncertainty.entropy import NoConfidence, VerdictMass, verdict_mass
from riskjudge.uncertainty.sampling import OutOfRange, Votes, verbalised_confidence
from riskjudge.uncertainty.tokens import tokens_at

SCORES = ("tokens", "samples")
_QUOTED = 300


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How a model is asked.

    Parameters
    ----------
    model
        Its name at the endpoint.
    score
        Where the confidence comes from: the verdict's ``tokens`` in one greedy pass, or the share
        of several ``samples``. A prompt that asks the model to state it has the last word.
    max_tokens
        Longest reply.
    top_logprobs
        Alternatives returned at each token; 20 is the most that OpenAI gives.
    samples, temperature, seed
        Of ``samples``.
    constrained
        Hold the reply to the decision line by a grammar that llama.cpp understands.
    extra
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
        if self.samples < 2:
            raise InputError(f"at least two samples make a share, got {self.samples}")
        if self.top_logprobs < 1 or self.max_tokens < 1:
            raise InputError("`top_logprobs` and `max_tokens` are at least 1")

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
    client
        Asks.
    prompt
        What is asked; its name is the judge's mode.
    settings
        How it is asked.
    retriever, k
        Where the evidence comes from, and how many passages; needed by a prompt with passages.
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

    @property
    def mode(self) -> str:
        """The prompt's name."""
        return self.prompt.name

    def __call__(self, item: Item) -> Judgement:
        values, disclosure = self._values(item), dict(self.identity)
        try:
            values |= self._evidence(item, disclosure)
            return self._judge(self.prompt.messages(**values), disclosure)
        except (ModelError, RetrievalError) as error:
            return Judgement(error.failure, disclosure=disclosure)

    def _values(self, item: Item) -> dict[str, str]:
        pair = self.prompt.needs("other")
        if len(item.responses) != (2 if pair else 1):
            wanted = "two responses" if pair else "one response"
            raise ShapeError(f"item {item.id!r}: the prompt {self.prompt.name!r} takes {wanted}")
        if self.prompt.needs("references") and not item.references:
            raise ShapeError(f"item {item.id!r} has no reference answer to compare with")
        return {
            "question": item.prompt,
            "candidate": item.responses[0],
            "other": item.responses[-1],
            "references": "\n".join(f"- {text}" for text in item.references),
        }

    @property
    def identity(self) -> Mapping[str, Any]:
        """What makes two answers answers to the same question; each judgement discloses it."""
        identity: dict[str, Any] = {"prompt": self.prompt.id, "model": self.settings.model}
        if self.settings.samples_for(self.prompt) > 1:
            identity["score"] = f"{self.settings.samples} samples"
        if self.retriever is not None and self.prompt.needs("passages"):
            identity |= {"retriever": self.retriever.describe(), "k": self.k}
        return identity

    def _evidence(self, item: Item, disclosure: dict[str, Any]) -> dict[str, str]:
        if self.retriever is None or not self.prompt.needs("passages"):
            return {}
        passages = self.retriever.search(item.prompt, self.k)
        disclosure["passages"] = [passage.url for passage in passages]
        return {"passages": fenced_passages(passages)}

    def _judge(
        self, messages: tuple[Mapping[str, str], ...], disclosure: dict[str, Any]
    ) -> Judgement:
        request = self.settings.request(self.prompt, messages)
        if self.settings.samples_for(self.prompt) > 1:
            return self._sampled(request, disclosure)
        answer = self.client.ask(request, self.read)
        disclosure["reply"] = answer.reply[:_QUOTED]
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
            ``parse``, if it has no decision line; ``out_of_range``, if the confidence that it
            states is off the scale.
        """
        try:
            decision = self.prompt.read(reply.text)
            if self.prompt.verbalised:
                verbalised_confidence(reply.text)
        except Undecidable as error:
            cut = " (the reply was cut off)" if reply.finish == "length" else ""
            raise ModelError(FailureKind.PARSE, f"{error}{cut}: {reply.text[:_QUOTED]!r}") from None
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
        confidence = verbalised_confidence(answer.reply)
        if isinstance(confidence, NoConfidence):
            disclosure["confidence_missing"] = confidence.reason
            return Judgement(outcome, disclosure=disclosure, order=self._order)
        return Judgement(outcome, confidence, disclosure, order=self._order)

    def _sampled(self, request: Request, disclosure: dict[str, Any]) -> Judgement:
        """Ask several times; a sample that cannot be read is a seat that did not vote."""
        votes: list[bool | None] = []
        failures: list[Failure] = []
        for number in range(self.settings.samples):
            try:
                answer = self.client.ask(request.with_seed(self.settings.seed + number), self.read)
                votes.append(self._affirms(answer))
            except ModelError as error:
                votes.append(None)
                failures.append(error.failure)
        said = Votes(tuple(votes))
        disclosure |= {"samples": votes}
        outcome: Outcome = failures[0] if failures else Undecided()
        confidence = None
        if said.verdict is not None and said.share is not None:
            outcome = self._verdict(said.verdict)
            disclosure["p_true"] = said.share
            confidence = said.share if said.verdict else 1.0 - said.share
        seed, calls = self.settings.seed, len(votes)
        return Judgement(outcome, confidence, disclosure, seed, self._order, calls)


@dataclass(frozen=True, slots=True)
class SelfEvaluatingJudge:
    """Asks for a verdict, then asks the model whether that verdict is right.

    The verdict is the first pass's, the confidence the second's (the model's belief that the
    verdict is right, which may be under a half), as in the paper's self-evaluation baseline.

    Parameters
    ----------
    judge
        The first pass.
    prompt
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
    def identity(self) -> Mapping[str, Any]:
        """As that of :class:`ModelJudge`, of both passes."""
        first = self.judge.identity
        return {**first, "prompt": self.prompt.id, "first_prompt": first["prompt"]}

    def __call__(self, item: Item) -> Judgement:
        first = self.judge(item)
        verdict = first.outcome
        if not isinstance(verdict, BooleanVerdict):
            return first
        second = ModelJudge(self.judge.client, self.prompt, self.judge.settings)
        said = self.judge.prompt.labels[0 if verdict.value else 1]
        messages = self.prompt.messages(
            question=item.prompt, candidate=item.responses[0], verdict=said
        )
        disclosure = dict(self.identity)
        try:
            answer = self.judge.client.ask(
                self.judge.settings.request(self.prompt, messages), second.read
            )
        except ModelError as error:
            return Judgement(error.failure, disclosure=disclosure, calls=first.calls + 1)
        disclosure["reply"] = answer.reply[:_QUOTED]
        confidence = None
        if isinstance(answer.mass, NoConfidence):
            disclosure["confidence_missing"] = answer.mass.reason
        else:
            disclose_mass(answer.mass, disclosure)
            confidence = answer.mass.p_first
            if not verdict.value:
                disclosure |= {"p_true": 1.0 - confidence, "log_odds": -answer.mass.log_odds}
        return Judgement(verdict, confidence, disclosure, calls=first.calls + 1)


def disclose_mass(mass: VerdictMass, disclosure: dict[str, Any]) -> None:
    """Write down what the model gave to the labels."""
    disclosure |= {
        "p_true": mass.p_first,
        "log_odds": mass.log_odds,
        "label_mass": mass.mass,
    }
    if mass.bounded:
        disclosure["label_bounded"] = True


def measure_of(judge: ModelJudge | SelfEvaluatingJudge) -> str:
    """The uncertainty measure that suits a judge's disclosures, by its name in a trace.

    Entropy is the paper's. It cannot tell a self-evaluation that doubts its verdict from one that
    believes in it, nor is there a distribution behind a number that was stated: there, it is 1
    minus the confidence.
    """
    stated = isinstance(judge, ModelJudge) and judge.prompt.verbalised
    doubted = isinstance(judge, SelfEvaluatingJudge)
    return "confidence" if stated or doubted else "predictive_entropy"
