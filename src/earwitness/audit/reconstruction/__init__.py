"""Could a value be put together from texts none of which discloses it: eligible sets, scores, an audit by people."""
