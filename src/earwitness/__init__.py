"""Earwitness: offline trace forensics for multi-agent LLM systems."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("earwitness")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"

__all__ = ["__version__"]
