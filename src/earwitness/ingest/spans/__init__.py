"""Trace spans: one attribute layer under every container (OTLP, later Jaeger, console, ...) and every dialect."""
