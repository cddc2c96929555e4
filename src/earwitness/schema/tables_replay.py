"""Tables of the replayed sanitizer: what each condition would have done and what it would have left."""

from earwitness.schema.columns import Table

REPLAYED: tuple[Table, ...] = ()
