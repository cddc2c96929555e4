"""One module a dialect of span attributes: `NAME`, `PRIORITY`, `matches(span)`, `facts(span)`. Found, not listed."""
