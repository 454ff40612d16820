"""How fast, and how much: a rate limit and a budget, shared by all threads of a run."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass, field

from riskjudge.data.verdict import FailureKind
from riskjudge.errors import InputError
from riskjudge.llm.chat import ModelError


class RateLimit:
    """Lets calls start no faster than a rate; threads wait for their turn.

    Parameters
    ----------
    per_second : float
        Calls a second, evenly spaced.
    """

    def __init__(self, per_second: float) -> None:
        if not 0 < per_second < math.inf:
            raise InputError(f"a rate is a positive number of calls a second, got {per_second!r}")
        self.spacing = 1.0 / per_second
        self._next = 0.0
        self._lock = threading.Lock()

    def wait(self) -> None:
        """Return when the next call may start."""
        with self._lock:
            turn = max(self._next, time.monotonic())
            self._next = turn + self.spacing
        time.sleep(max(0.0, turn - time.monotonic()))


@dataclass
class Budget:
    """What a run may spend; None is no limit.

    The number of calls is kept exactly, each try counted. Tokens and money are known only when a
    reply is there, so that the calls then under way may overshoot. Replies from the cache are free.
    A limit on tokens or money that an endpoint makes impossible to keep, because it does not say
    what a reply took, stops the run after that reply.

    Parameters
    ----------
    calls, tokens : int, optional
        Calls, and tokens in and out together.
    money : float, optional
        In the currency of the prices.
    price_in, price_out : float
        Of a million tokens.

    Attributes
    ----------
    spent_calls, spent_in, spent_out : int
        So far: calls sent, tokens in, tokens out.
    stopped : str
        Why nothing more may be asked; empty while it may.

    Raises
    ------
    InputError
        If a limit or a price is no finite number from 0 on, or there is money and no price.

    Examples
    --------
    >>> budget = Budget(calls=1)
    >>> budget.reserve()
    >>> budget.reserve()
    Traceback (most recent call last):
    ...
    riskjudge.llm.chat.ModelError: the budget of 1 calls is spent
    """

    calls: int | None = None
    tokens: int | None = None
    money: float | None = None
    price_in: float = 0.0
    price_out: float = 0.0
    spent_calls: int = field(default=0, init=False)
    spent_in: int = field(default=0, init=False)
    spent_out: int = field(default=0, init=False)
    stopped: str = field(default="", init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("calls", "tokens", "money", "price_in", "price_out"):
            value = getattr(self, name)
            kinds = (int,) if name in ("calls", "tokens") else (int, float)
            number = isinstance(value, kinds) and not isinstance(value, bool)
            unlimited = value is None and not name.startswith("price")
            if not unlimited and not (number and 0 <= value < math.inf):
                what = "a whole number" if kinds == (int,) else "a finite number"
                raise InputError(f"a budget's `{name}` is {what} from 0 on, got {value!r}")
        if self.money is not None and not (self.price_in > 0 or self.price_out > 0):
            raise InputError("a budget of money needs the price of a million tokens, in or out")

    @property
    def spent_money(self) -> float:
        """What the tokens so far cost."""
        return (self.spent_in * self.price_in + self.spent_out * self.price_out) / 1e6

    def reserve(self) -> None:
        """Count a call that is about to be made.

        Raises
        ------
        ModelError
            ``budget``, if a limit is reached; the call must not be made.
        """
        with self._lock:
            if not self.stopped:
                self.stopped = self._spent()
            if self.stopped:
                raise ModelError(FailureKind.BUDGET, self.stopped, stops=True)
            self.spent_calls += 1

    def _spent(self) -> str:
        if self.calls is not None and self.spent_calls >= self.calls:
            return f"the budget of {self.calls} calls is spent"
        if self.tokens is not None and self.spent_in + self.spent_out >= self.tokens:
            return f"the budget of {self.tokens} tokens is spent"
        if self.money is not None and self.spent_money >= self.money:
            return f"the budget of {self.money:g} is spent"
        return ""

    def charge(self, usage: tuple[int, int] | None) -> None:
        """Add the tokens of a reply.

        Parameters
        ----------
        usage : tuple of int or None
            Tokens in and out; None if the endpoint does not say.
        """
        with self._lock:
            if usage is not None:
                self.spent_in += usage[0]
                self.spent_out += usage[1]
            elif self.tokens is not None or self.money is not None:
                limit = f"{self.tokens} tokens" if self.tokens is not None else f"{self.money:g}"
                self.stopped = self.stopped or (
                    f"the endpoint does not say how many tokens a reply took, so that the budget of "
                    f"{limit} cannot be kept; limit the calls instead"
                )

    def stop(self, why: str) -> None:
        """Let nothing more be asked.

        Parameters
        ----------
        why : str
            Said to whoever asks.
        """
        with self._lock:
            self.stopped = self.stopped or why
