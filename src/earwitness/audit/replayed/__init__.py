"""The replayed detector: what a sanitizer would have found at run time. It never reads the registry of values."""
