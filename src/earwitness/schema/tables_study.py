"""Tables of studies over many runs: reconstruction, distinguishability, reproducibility."""

from earwitness.schema.columns import Table

STUDIED: tuple[Table, ...] = ()
