"""How close a judging run comes to what its concurrency allows, and what a kill costs.

A scripted server on loopback, in a process of its own, answers after a fixed time. The ideal is
calls × latency / concurrency: no time for the work between. The run then is killed (SIGKILL) half
way, resumed, and its trace compared with that of the run which was left alone.

    python experiments/benchmarks/judging.py
    python experiments/benchmarks/judging.py --quick
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from riskjudge.items import read_items
from riskjudge.judges import run_into_ledger
from riskjudge.judges.model import ModelSettings
from riskjudge.judges.modes import make_judges
from riskjudge.ledger import LedgerWriter
from riskjudge.llm import Endpoint, ModelClient, ReplyCache

MODE = "parametric"
SERVER = Path(__file__).parents[2] / "tests" / "scripted_server.py"


class Server:
    """The scripted server in a process of its own, so that it takes none of the run's time."""

    def __init__(self, latency: float) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(SERVER), str(latency)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.base_url = self.process.stdout.readline().strip()

    def stop(self) -> int:
        """Stop it, and return the number of calls it got."""
        out, _ = self.process.communicate()
        return json.loads(out)["asked"]


def write_items(path: Path, count: int) -> None:
    """Questions that differ, with a candidate and a reference each."""
    rows = (
        {
            "id": f"q{n}",
            "question": f"What is {n} + 1?",
            "candidate": str(n + 1),
            "references": [str(n + 1)],
        }
        for n in range(count)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def timed_run(folder: Path, items: Path, base_url: str, concurrency: int) -> tuple[float, float]:
    """Seconds, and seconds of computing, of a run in this process, without the start of Python."""
    with (
        LedgerWriter(folder / "timed.jsonl") as ledger,
        ReplyCache(folder / "timed.sqlite") as cache,
    ):
        client = ModelClient(Endpoint(base_url), cache)
        judges = make_judges(client, [MODE], ModelSettings("scripted"))
        asked = read_items(items)
        started, busy = time.perf_counter(), time.process_time()
        run_into_ledger(judges, asked, ledger, concurrency=concurrency)
        return time.perf_counter() - started, time.process_time() - busy


def command(items: Path, base_url: str, concurrency: int, output: Path) -> list[str]:
    """The command line of a run."""
    program = [sys.executable, "-c", "from riskjudge.cli import main; main()"]
    model = ["--base-url", base_url, "--model", "scripted", "--modes", MODE]
    rest = ["--concurrency", str(concurrency), "--label", "f1", "-o", str(output)]
    return [*program, "judge", str(items), *model, *rest]


def killed_half_way(folder: Path, arguments: list[str], count: int) -> int:
    """Start a run, kill it, and return how many rows it had acknowledged."""
    ledger = folder / "killed.ledger.jsonl"
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and _lines(ledger) < count // 2:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return _lines(ledger)


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--latency", type=float, default=0.05)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--quick", action="store_true", help="100 items.")
    options = parser.parse_args()
    count, concurrency = 100 if options.quick else options.items, options.concurrency
    ideal = count * options.latency / concurrency
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        items = folder / "items.jsonl"
        write_items(items, count)
        server = Server(options.latency)
        seconds, busy = timed_run(folder, items, server.base_url, concurrency)
        server.stop()
        print(
            f"{count} items, {options.latency * 1000:.0f} ms, {concurrency} at once: {seconds:.2f} s"
        )
        print(f"ideal {ideal:.2f} s, ratio {seconds / ideal:.2f}; ", end="")
        print(f"{busy:.2f} s of computing, at a load of {os.getloadavg()[0]:.1f} on this machine")

        server = Server(options.latency)
        whole = folder / "whole.parquet"
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": True}
        subprocess.run(command(items, server.base_url, concurrency, whole), **quiet)
        assert server.stop() == count
        server = Server(options.latency)
        killed = folder / "killed.parquet"
        # The cache knows the server by its URL, which must not change at the resumption.
        arguments = command(items, server.base_url, concurrency, killed)
        kept = killed_half_way(folder, arguments, count)
        subprocess.run(arguments, **quiet)
        asked = server.stop()
        # The trace names the endpoint; the second server has another port.
        resumed, in_one_go = (
            re.sub(rb"127\.0\.0\.1:\d+", b"", p.read_bytes()) for p in (killed, whole)
        )
        same = resumed == in_one_go
        print(
            f"killed with {kept} of {count} acknowledged; resumed: {asked} calls in all, ", end=""
        )
        print(f"{asked - count} under way at the kill and asked again; same trace: {same}")


if __name__ == "__main__":
    main()
