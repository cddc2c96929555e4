"""The laboratory: one task in many cells, in real frameworks, with scripted models. `record/lab.py` runs it."""
