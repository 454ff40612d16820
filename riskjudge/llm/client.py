"""Asking a model: cache, budget, rate and retries around an endpoint."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, TypeVar

from riskjudge.errors import InputError, OperationalError
from riskjudge.llm.cache import ReplyCache
from riskjudge.llm.chat import ModelError, Reply, Request, parse_reply, usage_of
from riskjudge.llm.limits import Budget, RateLimit

T = TypeVar("T")

FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0


class Sender(Protocol):
    """Whatever sends one request and returns the reply's body, or raises `ModelError`."""

    @property
    def base_url(self) -> str: ...

    def send(self, request: Request) -> str: ...


@dataclass
class Sent:
    """How many calls have gone out.

    Attributes
    ----------
    calls : int
        Every try counts, and nothing that came from the cache.
    """

    calls: int = 0


class ModelClient:
    """Asks an endpoint, and keeps what it said.

    A call is tried again after time-outs, 429 and 5xx, and after nothing else. The wait doubles
    from half a second to thirty, with a random part, unless the endpoint says how long to wait; it
    is stamina that counts and waits, and the SDK's own retries are off. Each try waits for its turn
    under the rate limit and counts against the budget. Safe for several threads.

    Parameters
    ----------
    endpoint : Sender
        Sends a request.
    cache : ReplyCache, optional
        Keeps requests and replies; None keeps nothing.
    budget : Budget, optional
        What may be spent; by default, anything.
    rate : RateLimit, optional
        How fast calls may start.
    tries : int
        Most tries of one call, the first one counted.
    where : str, optional
        What the cache calls the endpoint; its URL by default.

    Examples
    --------
    >>> class Parrot:
    ...     base_url = "http://parrot"
    ...     def send(self, request):
    ...         return '{"choices": [{"message": {"content": "Verdict: True"}}]}'
    >>> client = ModelClient(Parrot(), ReplyCache(":memory:"))
    >>> request = Request("m", ({"role": "user", "content": "?"},))
    >>> client.ask(request, lambda reply: reply.text), client.ask(request, lambda reply: reply.text)
    ('Verdict: True', 'Verdict: True')
    >>> client.budget.spent_calls
    1
    """

    def __init__(
        self,
        endpoint: Sender,
        cache: ReplyCache | None = None,
        budget: Budget | None = None,
        rate: RateLimit | None = None,
        tries: int = 5,
        where: str | None = None,
    ) -> None:
        if not isinstance(tries, int) or tries < 1:
            raise InputError(f"a call is tried at least once, got {tries!r} tries")
        self.endpoint = endpoint
        self.cache = cache
        self.budget = budget if budget is not None else Budget()
        self.rate = rate
        self.tries = tries
        self.where = where if where is not None else endpoint.base_url
        self._kept_under = self.where
        self._lock = threading.Lock()
        self._asking: dict[str, tuple[threading.Lock, int]] = {}

    def again(self) -> ModelClient:
        """The same client, whose stored replies are kept apart: what was asked is asked anew.

        Returns
        -------
        ModelClient
            Shares the endpoint, the cache file, the budget and the rate.
        """
        other = ModelClient(
            self.endpoint, self.cache, self.budget, self.rate, self.tries, self.where
        )
        other._kept_under = f"{self._kept_under} again"
        return other

    def ask(self, request: Request, read: Callable[[Reply], T], sent: Sent | None = None) -> T:
        """Send a request, or take its reply from the cache, and return what `read` makes of it.

        Only a reply that `read` could read is served from the cache later on.

        Parameters
        ----------
        request : Request
            What to ask.
        read : callable
            From the reply to what is wanted; raises `ModelError` if it cannot be read.
        sent : Sent, optional
            Counts the calls that go out.

        Returns
        -------
        object
            What `read` returned.

        Raises
        ------
        ModelError
            What the endpoint, the budget or `read` raised.
        """
        key, sent = request.key(self._kept_under), sent if sent is not None else Sent()
        if self.cache is None:
            return self._ask(request, read, key, sent)
        # Whoever asks the same at the same time waits, and finds the reply in the cache.
        with self._alone(key):
            if (stored := self.cache.get(key)) is not None:
                return read(parse_reply(stored))
            return self._ask(request, read, key, sent)

    def _ask(self, request: Request, read: Callable[[Reply], T], key: str, sent: Sent) -> T:
        body, before = None, sent.calls
        try:
            body = self._send(request, sent)
            value = read(parse_reply(body))
        except ModelError as error:
            if self.cache is not None and sent.calls > before:
                self.cache.put_failure(key, self.where, request.body, body, error.failure)
            raise
        if self.cache is not None:
            self.cache.put(key, self.where, request.body, body)
        return value

    @contextmanager
    def _alone(self, key: str) -> Iterator[None]:
        with self._lock:
            lock, waiting = self._asking.get(key, (threading.Lock(), 0))
            self._asking[key] = lock, waiting + 1
        try:
            with lock:
                yield
        finally:
            with self._lock:
                lock, waiting = self._asking.pop(key)
                if waiting > 1:
                    self._asking[key] = lock, waiting - 1

    def _send(self, request: Request, sent: Sent) -> str:
        try:
            import stamina
        except ImportError:
            raise OperationalError(
                "asking a model needs stamina: pip install 'riskjudge[openai]'"
            ) from None
        try:
            for attempt in stamina.retry_context(
                on=_retry_in,
                attempts=self.tries,
                timeout=None,
                wait_initial=FIRST_WAIT,
                wait_max=LONGEST_WAIT,
                wait_jitter=FIRST_WAIT,
            ):
                with attempt:
                    self.budget.reserve()
                    if self.rate is not None:
                        self.rate.wait()
                    sent.calls += 1
                    body = self.endpoint.send(request)
                    self.budget.charge(usage_of(body))
        except ModelError as error:
            if error.stops:
                self.budget.stop(error.failure.message)
            elif error.failure.message.startswith("HTTP 429") and self.tries > 1:
                # It held through every wait: what is asked next would meet it again.
                self.budget.stop(f"the endpoint keeps turning calls away: {error.failure.message}")
            raise
        return body


def _retry_in(error: Exception) -> bool | float:
    if not isinstance(error, ModelError) or error.retry_in is None:
        return False
    return error.retry_in if error.retry_in > 0 else True
