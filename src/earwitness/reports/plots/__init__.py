"""Figures for notebooks and papers: rates with intervals, shares, the way of a value. Extra `notebooks`."""

from earwitness.reports.plots.calibration import spread, thresholds
from earwitness.reports.plots.rates import dots, lines, many, with_intervals
from earwitness.reports.plots.replay import causes, tradeoff
from earwitness.reports.plots.shares import coverage, knowledge
from earwitness.reports.plots.style import STEPS, Plot
from earwitness.reports.plots.ways import incident, remaining

__all__ = [
    "STEPS", "Plot", "causes", "coverage", "dots", "incident", "knowledge", "lines", "many", "remaining", "spread",
    "thresholds", "tradeoff", "with_intervals",
]  # fmt: skip
