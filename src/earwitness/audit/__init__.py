"""Detect, decide, measure: what the record says about who learned what."""
