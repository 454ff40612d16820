"""Test runs of DeepEval, in camelCase as on disk or in snake_case as in Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from riskjudge.data.verdict import BooleanVerdict, FailureKind
from riskjudge.readers.documents import Document
from riskjudge.readers.formats.base import has
from riskjudge.readers.records import Record, Said, as_number, failed, flat

_CASES = ("testCases", "test_cases", "test_results", "testResults")
_METRICS = ("metricsData", "metrics_data", "metricsMetadata", "metrics_metadata")


class DeepEval:
    """Each metric is a judge: ``success`` is its verdict, and it is the less sure the nearer its
    score is to the threshold."""

    name = "deepeval"

    def recognises(self, document: Document) -> bool:
        whole = document.whole or {}
        return any(
            isinstance(whole.get(name), list)
            and bool(whole[name])
            and isinstance(whole[name][0], Mapping)
            and any(has(whole[name][0], metrics) for metrics in _METRICS)
            for name in _CASES
        )

    def records(self, document: Document, choices: Mapping[str, str]) -> Iterator[Record]:
        whole = document.whole or {}
        cases = next(whole[name] for name in _CASES if isinstance(whole.get(name), list))
        known = Counter(str(case.get("name")) for case in cases)
        for number, case in enumerate(cases):
            name = case.get("name")
            unique = name is not None and known[str(name)] == 1
            extra = case.get("additionalMetadata") or case.get("additional_metadata") or {}
            yield Record(
                str(name) if unique else str(case.get("order", number)),
                self._judges(case),
                {**flat({"metadata": extra}), "input": case.get("input")},
                key=(str(case.get("input")),),
            )

    def _judges(self, case: Mapping[str, Any]) -> dict[str, Said]:
        metrics: list[Any] = next((case[name] for name in _METRICS if case.get(name)), [])
        found = {}
        for metric in metrics:
            name = str(metric.get("name") or metric.get("metric") or "metric")
            found[name] = self._said(metric)
        return found or {"*": failed("the test case has no metric", FailureKind.NO_VERDICT)}

    def _said(self, metric: Mapping[str, Any]) -> Said:
        if metric.get("error"):
            return failed(metric["error"])
        if not isinstance(metric.get("success"), bool):
            return failed("the metric has no success", FailureKind.NO_VERDICT)
        score, threshold = as_number(metric.get("score")), as_number(metric.get("threshold"))
        verdict = BooleanVerdict(metric["success"])
        if score is None or threshold is None:
            return Said(verdict)
        widest = max(threshold, 1.0 - threshold) or 1.0
        return Said(verdict, score, 1.0 - min(abs(score - threshold) / widest, 1.0), "cut")
