"""Shared by all tests: one BLAS thread each, and where the real data is, if it is here at all."""

import os
from pathlib import Path

# Before numpy is loaded, here and in what tests start: workers would take each other's cores.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

# The same examples in every run, and no clock: a shared machine may be slow.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")

REAL = Path(os.environ.get("RISKJUDGE_REAL", Path(__file__).parents[1] / ".." / "shared" / "real"))


@pytest.fixture
def real():
    """Folder with public data that the project does not ship; skips where it is absent."""
    if not REAL.is_dir():
        pytest.skip("public data sets are not here; point RISKJUDGE_REAL at them")
    return REAL.resolve()


@pytest.fixture
def command(capsys):
    """Run a command as a shell would: exit code, standard output, standard error."""
    from riskjudge.cli import main

    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return stop.value.code, printed.out, printed.err

    return run
