"""The measures: one module a theme, each with its tuple `MEASURES`; `earwitness.audit.measure` counts them."""
