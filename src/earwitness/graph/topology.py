"""The topology of every trace: the class its messages show beside the declared one, nominal edges beside those used."""

import numpy as np
import polars as pl

from earwitness.graph.nominal import nominal_graph
from earwitness.graph.parties import load_flows, number_parties
from earwitness.graph.shapes import CLASSES, Shapes, find_shapes, read_label
from earwitness.graph.temporal import Ints
from earwitness.schema.case import Case


def topology(case: Case) -> pl.DataFrame:
    """The shape of every trace, inferred beside declared.

    Returns:
        Columns trace, trace_id, agents (all there are), size (those who took part in messages), edges (distinct, one
        way), class, depth, root, hub, declared (the label), declared_class, declared_size, basis (of the nominal
        graph: `edges` listed by the trace, `declared` class, `inferred` class, or NULL), nominal (its edges), used
        (share of them that occurred), extra (edges that occurred and are not in it), agrees (the declared class
        with what occurred, the declared size with the agents; NULL where nothing is declared).
    """
    parties = number_parties(case)
    shapes = find_shapes(parties, load_flows(case))
    nominal = nominal_graph(case, shapes)
    frame = case.frame("SELECT trace, trace_id, topology AS declared FROM traces ORDER BY trace")
    at = frame["trace"].to_numpy()
    labels = [read_label(label) for label in frame["declared"]]
    frame = frame.with_columns(
        pl.Series("declared_class", [c for c, _ in labels], pl.String),
        pl.Series("declared_size", [s for _, s in labels], pl.Int64),
        *_columns(shapes, at),
        *nominal.columns(shapes, at),
    )
    return frame.with_columns(agrees=_agrees())


def _columns(shapes: Shapes, at: Ints) -> list[pl.Series]:
    agents = shapes.parties.table.filter(pl.col("kind") == "agent")["trace"].to_numpy()
    traces = max(len(shapes.root), int(at.max(initial=-1)) + 1)
    names = shapes.parties.table["actor"]

    def of(values: Ints, fill: int = 0) -> Ints:
        return np.concatenate([values, np.full(traces - len(values), fill, np.int64)])[at]

    def named(node: Ints) -> pl.Series:
        return names.gather(pl.Series(node).replace(-1, None)) if len(names) else pl.Series([None] * len(node))

    classes = pl.Series(CLASSES)
    return [
        pl.Series("agents", np.bincount(agents, minlength=traces)[at]),
        pl.Series("size", of(shapes.size)),
        pl.Series("edges", of(np.bincount(shapes.parties.trace[shapes.tail], minlength=len(shapes.root)))),
        classes.gather(of(shapes.class_)).alias("class"),
        pl.Series("depth", of(shapes.depth)),
        named(of(shapes.root, -1)).alias("root"),
        named(of(shapes.hub, -1)).alias("hub"),
    ]


def _agrees() -> pl.Expr:
    """A pair is the smallest graph of any class, so it contradicts none."""
    same = (pl.col("class") == pl.col("declared_class")) | (pl.col("class") == "pair")
    size = pl.col("declared_size").is_null() | (pl.col("declared_size") == pl.col("agents"))
    return pl.when(pl.col("declared_class").is_null()).then(None).otherwise(same & size)
