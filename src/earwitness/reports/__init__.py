"""Telling: tables, pages and machine-readable reports over a judged case."""
