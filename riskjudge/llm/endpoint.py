"""The wire: an OpenAI-compatible endpoint through the official SDK (extra ``openai``)."""

from __future__ import annotations

import math
import os
import sys
from typing import Any
from urllib.parse import urlsplit

from riskjudge.data.verdict import FailureKind
from riskjudge.errors import InputError, OperationalError
from riskjudge.llm.chat import ModelError, Request, error_reply

OPENAI_URL = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"

_MASK = "***"


class Endpoint:
    """Sends requests, one try each, and says what went wrong in the closed vocabulary.

    The key is read from the environment and is nowhere else: it is masked in whatever comes back,
    so that a server that echoes it puts it into no ledger, cache or message.

    Parameters
    ----------
    base_url : str
        Up to and including ``/v1``.
    key_variable : str
        The environment variable that holds the key. It may be unset where the endpoint is not
        OpenAI's own: local servers ask for none.
    timeout : float
        Seconds without a byte before a call counts as hanging.

    Raises
    ------
    InputError
        If the URL is none or carries credentials, or OpenAI's endpoint is to be used without a key.
    OperationalError
        If the SDK is not installed.
    """

    def __init__(
        self,
        base_url: str = OPENAI_URL,
        *,
        key_variable: str = KEY_VARIABLE,
        timeout: float = 60.0,
    ) -> None:
        self.base_url = _checked(base_url)
        if not 0 < timeout < math.inf:
            raise InputError(f"a timeout is a positive number of seconds, got {timeout!r}")
        self._key = os.environ.get(key_variable, "").strip()
        if not self._key and self.base_url == OPENAI_URL:
            raise InputError(f"the environment variable {key_variable} holds no key")
        try:
            import openai
        except ImportError:
            raise OperationalError(
                "asking a model needs the OpenAI SDK: pip install 'riskjudge[openai]'"
            ) from None
        # The SDK's HTTP library, whichever this version of it is built on.
        library = sys.modules[openai.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0]]
        self._sdk, self._reply_type = openai, library.Response
        self._client = openai.OpenAI(
            base_url=self.base_url,
            # The SDK wants some text; servers that need no key ignore it.
            api_key=self._key or "none",
            organization="",
            project="",
            max_retries=0,
            timeout=timeout,
            # A key is for the endpoint it was given to.
            http_client=openai.DefaultHttpxClient(follow_redirects=False),
        )

    def send(self, request: Request) -> str:
        """The body of the reply, whatever is in it.

        Raises
        ------
        ModelError
            ``timeout``, ``status`` (any other than 200), ``refusal`` (a filter's 4xx), ``budget``
            (the quota is used up) or ``transport`` (no connection, or one that broke off). Only
            time-outs and the statuses 429 and 5xx ask to be retried.
        """
        sdk = self._sdk
        try:
            # The SDK's plain call: its typed one would check and copy what we check ourselves.
            reply = self._client.post(
                "/chat/completions", body=request.body, cast_to=self._reply_type
            )
            status, text = reply.status_code, reply.text
        except sdk.APITimeoutError:
            raise ModelError(FailureKind.TIMEOUT, "no reply in time", retry_in=0.0) from None
        except sdk.APIStatusError as error:
            raise self._status(error) from None
        except sdk.APIConnectionError as error:
            cause = error.__cause__ or error
            raise ModelError(
                FailureKind.TRANSPORT, self.masked(f"{type(cause).__name__}: {cause}")
            ) from None
        except UnicodeDecodeError:
            raise ModelError(FailureKind.PARSE, "the reply is not text") from None
        if status != 200:
            # Accepted, partial, reset …: whatever else it means, the answer is not all here.
            raise error_reply(status, self.masked(text))
        return self.masked(text)

    def _status(self, error: Any) -> ModelError:
        status: int = error.status_code
        said = self.masked(error.response.text)
        found = error_reply(status, said)
        if status in (401, 403) and found.failure.kind is FailureKind.STATUS:
            # What an endpoint says about a key that it turns away may quote parts of it.
            return ModelError(FailureKind.STATUS, f"HTTP {status}")
        if found.failure.kind is FailureKind.STATUS and (status == 429 or status >= 500):
            found.retry_in = _seconds(error.response.headers.get("retry-after"))
        return found

    def masked(self, text: str) -> str:
        """`text` without the key."""
        return text.replace(self._key, _MASK) if self._key else text

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _checked(base_url: str) -> str:
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"a base URL is http(s)://host…/v1, got {base_url!r}")
    if parts.username or parts.password or parts.query:
        raise InputError(
            "the base URL carries credentials or a query; a key belongs in the environment"
        )
    return base_url.rstrip("/")


def _seconds(retry_after: str | None) -> float:
    """What a Retry-After header asks for, as far as it is a number of seconds; 0 otherwise."""
    try:
        return min(max(0.0, float(retry_after or 0)), 120.0)
    except ValueError:
        return 0.0
