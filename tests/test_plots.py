"""Displays: arrays against known numbers, then pictures that are drawn, saved and repeat."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from functools import cache

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot
from matplotlib.text import Text
from scipy.stats import beta
from typer.testing import CliRunner

import riskjudge
from riskjudge.calibration import Pointwise
from riskjudge.cli.plot import register
from riskjudge.data.modes import ABSENCES
from riskjudge.data.trace import Trace
from riskjudge.data.verdict import AbstainReason, FailureKind
from riskjudge.errors import InputError
from riskjudge.evaluation.splits import Sweep
from riskjudge.gate import Router, SelectiveGate
from riskjudge.gate.outcomes import Outcomes
from riskjudge.paper.demo import demo_trace_path
from riskjudge.plots import (
    CoverageDisplay,
    FDRDisplay,
    RiskCoverageDisplay,
    RoutingDisplay,
    ThresholdPlaneDisplay,
)
from riskjudge.plots.style import TEXT_SIZE, figure_format, spread


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def small_sweep(procedure: str = "portfolio") -> Sweep:
    """Three splits of 100 test items at three levels; at the first, one split accepts anything."""
    accepted = np.array([[0, 40, 100], [0, 50, 100], [20, 60, 100]])
    errors = np.array([[0, 4, 20], [0, 10, 30], [1, 9, 40]])
    first = np.array([[0, 10, 100], [0, 20, 100], [20, 30, 100]])
    return Sweep(
        (0.1, 0.2, 0.3),
        np.array([100, 100, 100]),
        accepted,
        errors,
        np.stack([first, accepted - first], axis=2),
        ("parametric", "retrieval"),
        f"{procedure}, delta = 0.05, 3 random splits, seed 0",
    )


def two_mode_trace(n: int = 400, seed: int = 0) -> Trace:
    rng = np.random.default_rng(seed)
    u = rng.random((n, 2))
    label = rng.integers(0, 2, n)
    verdict = label[:, None] ^ (rng.random((n, 2)) < [0.6, 0.3] * u)
    return Trace.from_arrays(u, verdict, label, modes=["parametric", "retrieval"])


def tied_trace() -> Trace:
    """Four items over three levels in mode 1, two levels in mode 2."""
    scores = np.array([[0.1, 0.5], [0.2, 0.5], [0.2, 0.4], [np.nan, 0.4]])
    verdicts = np.array([[1, 1], [0, 1], [1, 0], [-1, 1]])
    return Trace.from_arrays(scores, verdicts, np.array([1, 1, 1, 0]))


def outcomes() -> Outcomes:
    """Ten items: 4 in mode 1 (1 wrong), 2 in mode 2, 3 abstained for two reasons, 1 failed."""
    why = [-1] * 6 + [ABSENCES.index(AbstainReason.BELOW_CONFORMAL)] * 2
    why += [ABSENCES.index(AbstainReason.PANEL_SPLIT), ABSENCES.index(FailureKind.PARSE)]
    import pandas as pd

    return Outcomes(
        np.array([str(i) for i in range(10)], dtype=object),
        ("first", "second"),
        np.array([0, 0, 0, 0, 1, 1, -1, -1, -1, -1]),
        np.array([1, 1, 1, 0, 1, 1, -1, -1, -1, -1]),
        np.array(why),
        np.ones(10, dtype=bool),
        np.full(10, 2),
        np.ones(10, dtype=np.int64),
        pd.DataFrame({"kind": ["a"] * 7 + ["a/rather_long/name_of_a_segment"] * 3}),
    )


@cache
def fitted() -> tuple[Trace, Router]:
    trace = two_mode_trace()
    return trace, Router(alpha=0.2).fit(trace)


DISPLAYS = {
    "coverage": lambda: CoverageDisplay.from_sweep(small_sweep(), source="synthetic"),
    "coverage_two": lambda: CoverageDisplay.from_sweep(small_sweep(), small_sweep("pointwise")),
    "fdr": lambda: FDRDisplay.from_sweep(small_sweep(), source="synthetic"),
    "fdr_two": lambda: FDRDisplay.from_sweep(
        small_sweep(), small_sweep("pointwise"), band="quantiles"
    ),
    "risk_coverage": lambda: RiskCoverageDisplay.from_trace(*fitted()),
    "risk_coverage_tied": lambda: RiskCoverageDisplay.from_trace(tied_trace()),
    "routing": lambda: RoutingDisplay.from_outcomes(outcomes(), by="kind", floor=3),
    "routing_sweep": lambda: RoutingDisplay.from_sweep(small_sweep()),
    "plane": lambda: ThresholdPlaneDisplay.from_trace(fitted()[0], 0.2, 0.05, fitted()[1]),
    "plane_tied": lambda: ThresholdPlaneDisplay.from_trace(tied_trace()),
}


class TestCurves:
    def test_coverage_is_the_mean_over_all_splits(self):
        (curve,) = CoverageDisplay.from_sweep(small_sweep()).curves
        np.testing.assert_allclose(curve.mean, [0.2 / 3, 0.5, 1.0])
        np.testing.assert_allclose(curve.high[1] - curve.mean[1], 0.1)  # std of .4, .5, .6
        assert curve.high[2] == curve.low[2] == 1.0
        assert curve.low[0] == 0.0  # cut off: the mean is below one standard deviation
        assert list(curve.n_undefined) == [0, 0, 0]

    def test_fdr_leaves_undefined_splits_out_and_says_so(self):
        display = FDRDisplay.from_sweep(small_sweep())
        (curve,) = display.curves
        np.testing.assert_allclose(curve.mean, [0.05, (0.1 + 0.2 + 0.15) / 3, 0.3])
        assert list(curve.n_undefined) == [2, 0, 0]
        assert np.isnan(curve.low[0])  # one split has no spread
        assert np.isnan(curve.high[0])
        assert "left out: 2 of 3 splits at α = 0.1" in display.details

    def test_agrees_with_the_sweeps_own_summary(self):
        sweep = small_sweep()
        for row, cov, fdr in zip(
            sweep.summary(),
            CoverageDisplay.from_sweep(sweep).curves[0].mean,
            FDRDisplay.from_sweep(sweep).curves[0].mean,
            strict=True,
        ):
            assert cov == pytest.approx(row["coverage"])
            assert fdr == pytest.approx(row["fdr"])

    def test_quantile_band_holds_the_central_four_fifths(self):
        (curve,) = FDRDisplay.from_sweep(small_sweep(), band="quantiles").curves
        np.testing.assert_allclose(curve.low[2], 0.22)
        np.testing.assert_allclose(curve.high[2], 0.38)

    def test_a_level_at_which_no_split_accepts_is_nan_and_drawn_nowhere(self):
        none = np.zeros((3, 3), dtype=np.int64)
        sweep = replace(
            small_sweep(), accepted=none, errors=none, by_mode=none[:, :, None] + [0, 0]
        )
        display = FDRDisplay.from_sweep(sweep, sweep, names=["a", "b"]).plot()
        assert np.isnan(display.curves[0].mean).all()
        marked = [line for line in display.ax_.lines if line.get_marker() in ("o", "s")]
        assert all(np.isnan(line.get_ydata()).all() for line in marked)

    def test_settings_that_differ_are_told_apart(self):
        other = replace(small_sweep("pointwise"), description="pointwise, delta = 0.1, seed 1")
        details = CoverageDisplay.from_sweep(small_sweep(), other).details
        assert "portfolio: δ = 0.05, 3 random splits, seed 0" in details
        assert "pointwise: δ = 0.1, seed 1" in details

    @pytest.mark.parametrize("wrong", [{"band": "sem"}, {"names": ["a", "b"]}])
    def test_wrong_arguments(self, wrong):
        with pytest.raises(InputError):
            CoverageDisplay.from_sweep(small_sweep(), **wrong)


class TestRiskCoverage:
    def test_known_counts_and_clopper_pearson_band(self):
        first, second, _ = RiskCoverageDisplay.from_trace(tied_trace(), delta=0.05).curves
        np.testing.assert_array_equal(first.accepted, [1, 3])
        np.testing.assert_array_equal(first.errors, [0, 1])
        np.testing.assert_allclose(first.coverage, [0.25, 0.75])  # the failed item stays below
        np.testing.assert_array_equal(second.errors, [2, 2])
        np.testing.assert_allclose(first.high, beta.ppf(0.95, [1, 2], [1, 2]))
        np.testing.assert_allclose(first.low, [0.0, beta.ppf(0.05, 1, 3)])

    def test_the_routers_path_runs_through_the_certified_thresholds(self):
        trace = two_mode_trace(2000)
        router = Router(alpha=0.2, procedure="pointwise").fit(trace)
        display = RiskCoverageDisplay.from_trace(trace, router)
        path, chosen = display.curves[-1], router.certificate_
        nearest = np.abs(path.accepted - chosen.accepted).argmin()
        assert abs(path.accepted[nearest] - chosen.accepted) <= 0.005 * 2000
        assert path.risk[nearest] == pytest.approx(chosen.fdp, abs=0.01)
        assert "no guarantee" in display.details

    def test_a_router_that_uses_one_mode_has_no_path_of_its_own(self):
        trace = two_mode_trace()
        router = Router(alpha=0.2).fit(trace)
        used = dict(router.certificate_.thresholds)
        router.certificate_ = replace(router.certificate_, thresholds=used | {"parametric": None})
        assert len(RiskCoverageDisplay.from_trace(trace, router).curves) == 2

    def test_an_empty_region_marks_nothing_and_says_so(self):
        rng = np.random.default_rng(1)
        coin = Trace.from_arrays(
            rng.random((200, 1)), rng.integers(0, 2, (200, 1)), rng.integers(0, 2, 200)
        )
        gate = SelectiveGate(alpha=0.05).fit(coin)
        display = RiskCoverageDisplay.from_trace(coin, gate).plot()
        assert gate.certificate_.thresholds is None
        assert "nothing is certified" in display.details
        assert not display.ax_.containers  # no error bar

    def test_other_items_than_the_certificates_are_said(self):
        router = Router(alpha=0.2).fit(two_mode_trace())
        display = RiskCoverageDisplay.from_trace(two_mode_trace(seed=5), router)
        assert "from other items" in display.details

    def test_by_verdict_and_long_traces(self):
        trace = two_mode_trace(3000)
        gate = SelectiveGate(alpha=0.2, by_verdict=True).fit(trace)
        alone, path = RiskCoverageDisplay.from_trace(trace, gate).curves
        assert len(alone.accepted) == 1000  # thinned, the ends kept
        assert alone.accepted[0] == 1
        assert alone.accepted[-1] == 3000
        assert path.name == "a threshold by verdict"


class TestRouting:
    def test_counts_of_outcomes(self):
        display = RoutingDisplay.from_outcomes(outcomes(), by="kind", floor=5)
        assert display.parts == ("first", "second", "panel_split", "below_conformal", "failed") or (
            display.parts == ("first", "second", "below_conformal", "panel_split", "failed")
        )
        shares = dict(zip(display.parts, display.shares[0], strict=True))
        assert shares == pytest.approx(
            {"first": 0.4, "second": 0.2, "below_conformal": 0.2, "panel_split": 0.1, "failed": 0.1}
        )
        assert display.rows == ("all (10)", "a (7)")
        np.testing.assert_allclose(display.shares.sum(axis=1), 1.0)
        assert (
            "insufficient, no bar: a/rather_long/name_of_a_segment (0, need 5)" in display.details
        )
        assert "FDR 16.7 % (1 wrong of 6 with a label)" in display.details

    def test_percentages_are_printed(self):
        display = RoutingDisplay.from_outcomes(outcomes()).plot()
        printed = [text.get_text() for text in display.ax_.texts]
        assert sorted(t for t in printed if t.endswith(" %")) == [
            "10.0 %",
            "10.0 %",
            "20.0 %",
            "20.0 %",
            "40.0 %",
        ]

    def test_means_of_a_sweep(self):
        display = RoutingDisplay.from_sweep(small_sweep())
        np.testing.assert_allclose(display.shares[1], [0.2, 0.3, 0.5])
        assert display.parts[-1] == "not accepted"  # a sweep does not tell abstained from failed

    def test_undefined_and_uncertified_are_said(self):
        trace = two_mode_trace(50)
        declined = RoutingDisplay.from_outcomes(Router(unfitted="abstain").decide(trace))
        assert "FDR undefined" in declined.details
        passed = RoutingDisplay.from_outcomes(Router().decide(trace))
        assert "50 accepted verdicts are uncertified" in passed.details


class TestPlane:
    def test_known_cells(self):
        display = ThresholdPlaneDisplay.from_trace(tied_trace(), 0.1, 0.05)
        np.testing.assert_array_equal(display.grids[0], [-np.inf, 0.1, 0.2])
        np.testing.assert_array_equal(display.grids[1], [-np.inf, 0.4, 0.5])
        np.testing.assert_array_equal(display.accepted, [[0, 2, 4], [1, 3, 4], [3, 4, 4]])
        np.testing.assert_array_equal(display.errors, [[0, 2, 2], [0, 2, 2], [1, 2, 2]])
        assert np.isnan(display.bound[0, 0])
        assert display.bound[1, 0] == pytest.approx(0.95)
        assert display.bound[2, 0] == pytest.approx(beta.ppf(0.95, 2, 2))
        assert not display.passes.any()

    def test_the_chosen_pair_keeps_its_cell_on_a_thinned_grid(self):
        trace = two_mode_trace(2000)
        router = Router(alpha=0.2, procedure=Pointwise()).fit(trace)
        display = ThresholdPlaneDisplay.from_trace(trace, 0.2, 0.05, router)
        assert max(display.bound.shape) <= 162
        cell = display.chosen
        assert cell is not None
        assert display.accepted[cell] == router.certificate_.accepted
        assert display.errors[cell] == router.certificate_.errors
        assert display.bound[cell] == pytest.approx(router.certificate_.upper_bound)
        assert display.passes[cell]

    def test_nothing_certified_leaves_no_mark(self):
        trace = two_mode_trace(60)
        router = Router(alpha=0.01).fit(trace)
        display = ThresholdPlaneDisplay.from_trace(trace, 0.01, 0.05, router)
        assert display.chosen is None
        assert "no pair is certified" in display.details

    def test_needs_two_plain_modes(self):
        trace = two_mode_trace()
        with pytest.raises(InputError, match="two modes"):
            ThresholdPlaneDisplay.from_trace(trace.select(["retrieval"]))
        with pytest.raises(InputError, match="two modes"):
            ThresholdPlaneDisplay.from_trace(trace, gate=Router(by_verdict=True))


class TestPictures:
    @pytest.mark.parametrize("name", DISPLAYS)
    def test_saved_twice_gives_the_same_bytes(self, name, tmp_path):
        for round_ in ("a", "b"):
            display = DISPLAYS[name]().plot()
            display.save(tmp_path / f"{round_}.png", tmp_path / f"{round_}.pdf")
        for kind in ("png", "pdf"):
            first, second = (tmp_path / f"{r}.{kind}" for r in "ab")
            assert first.read_bytes() == second.read_bytes()
            assert len(first.read_bytes()) > 5000
        assert len(list(tmp_path.iterdir())) == 4  # nothing temporary stays

    def test_svg_repeats_too(self, tmp_path):
        for name in ("a.svg", "b.svg"):
            DISPLAYS["plane_tied"]().plot().save(tmp_path / name)
        assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()

    @pytest.mark.parametrize("name", DISPLAYS)
    def test_the_layout_settles(self, name):
        display = DISPLAYS[name]().plot()
        places = []
        for _ in range(3):
            display.figure_.draw_without_rendering()
            places.append(display.ax_.get_position().bounds)
        np.testing.assert_allclose(places[2], places[1], atol=0.004)

    @pytest.mark.parametrize("name", DISPLAYS)
    def test_text_is_large_enough_and_inside(self, name):
        display = DISPLAYS[name]().plot()
        figure = display.figure_
        figure.draw_without_rendering()
        page = figure.bbox.padded(1)
        for text in figure.findobj(Text):
            if not text.get_text().strip() or not text.get_visible():
                continue
            assert text.get_fontsize() >= TEXT_SIZE
            box = text.get_window_extent()
            seen = box.width > 0 and text.get_clip_box() is None
            if seen and not _is_hidden_tick(text, figure):
                assert page.x0 <= box.x0, text
                assert box.x1 <= page.x1, text
                assert page.y0 <= box.y0, text
                assert box.y1 <= page.y1, text

    def test_title_says_what_was_run(self):
        display = CoverageDisplay.from_sweep(small_sweep(), source="synthetic trace")
        display.plot(title="Mine")
        words = " ".join(t.get_text().replace("\n", " ") for t in display.ax_.texts)
        assert display.ax_.get_title(loc="left") == "Mine"
        assert "synthetic trace portfolio, δ = 0.05, 3 random splits, seed 0" in words

    def test_draws_on_given_axes_and_leaves_settings_alone(self):
        before = dict(mpl.rcParams)
        figure, axes = pyplot.subplots(1, 2)
        display = FDRDisplay.from_sweep(small_sweep())
        assert display.plot(axes[1]) is display
        assert display.ax_ is axes[1]
        assert display.figure_ is figure
        assert dict(mpl.rcParams) == before

    def test_saving_needs_a_picture_and_a_known_ending(self, tmp_path):
        display = CoverageDisplay.from_sweep(small_sweep())
        with pytest.raises(InputError, match="not drawn"):
            display.save(tmp_path / "a.png")
        with pytest.raises(InputError, match=r"\.png, \.pdf or \.svg"):
            display.plot().save(tmp_path / "a.png", tmp_path / "a.gif")
        assert list(tmp_path.iterdir()) == []
        with pytest.raises(InputError):
            figure_format("noending")

    def test_matplotlib_is_not_imported_before_it_is_needed(self):
        code = "import sys, riskjudge.plots, riskjudge.cli.plot; print('matplotlib' in sys.modules)"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == "False"


def _is_hidden_tick(text: Text, figure) -> bool:
    """Tick labels outside the view limits exist, but are not drawn."""
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in axis.get_major_ticks():
                if text in (tick.label1, tick.label2):
                    return not low <= tick.get_loc() <= high
    return False


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=8),
    st.floats(0.001, 0.1),
)
def test_spread_keeps_the_order_the_gap_and_the_range(positions, gap):
    placed = spread(np.array(positions), gap, 0.0, 1.0)
    ordered = placed[np.argsort(positions, kind="stable")]
    assert (np.diff(ordered) >= gap - 1e-9).all()
    assert ordered[0] >= -1e-9
    assert ordered[-1] <= 1 + 1e-9


class TestCommandLine:
    app = typer.Typer()
    register(app)

    @app.callback()
    def riskjudge() -> None:
        """Keep `plot` a subcommand, as in the application."""

    def run(self, *arguments: object):
        return CliRunner().invoke(self.app, ["plot", *map(str, arguments)])

    def test_every_kind_draws(self, tmp_path):
        trace = demo_trace_path()
        router = riskjudge.Router(alpha=0.15).fit(riskjudge.read_trace(trace))
        router.save(tmp_path / "gate.json")
        decided = router.decide(riskjudge.read_trace(trace)).to_frame()
        decided.to_csv(tmp_path / "outcomes.csv", index=False)
        levels = ["--alphas", "0.1,0.2", "--splits", "2", "--jobs", "1"]
        for arguments in (
            ["coverage", trace, *levels, "--procedure", "portfolio", "--procedure", "bonferroni"],
            ["fdr", trace, *levels, "--band", "quantiles"],
            ["risk-coverage", trace, "--gate", tmp_path / "gate.json"],
            ["plane", trace, "--gate", tmp_path / "gate.json"],
            ["routing", tmp_path / "outcomes.csv"],
        ):
            png, pdf = tmp_path / f"{arguments[0]}.png", tmp_path / f"{arguments[0]}.pdf"
            result = self.run(*arguments, "-o", png, "-o", pdf, "--json", "--source", "synthetic")
            assert result.exit_code == 0, result.output
            said = json.loads(result.stdout)
            assert said["files"] == [str(png), str(pdf)]
            assert said["details"].startswith("synthetic\n")
            assert png.read_bytes().startswith(b"\x89PNG")
            assert pdf.read_bytes().startswith(b"%PDF")

    def test_a_wrong_ending_is_found_before_anything_is_read(self, tmp_path):
        result = self.run("plane", tmp_path / "missing.csv", "-o", tmp_path / "a.bmp")
        assert isinstance(result.exception, InputError)
        assert "a.bmp" in str(result.exception)
