"""Earwitness: offline trace forensics for multi-agent LLM systems."""

# The one place of the version; the build reads it from here.
__version__ = "0.1.0"

__all__ = ["__version__"]
