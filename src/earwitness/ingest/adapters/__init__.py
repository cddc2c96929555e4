"""One module a format. A module that offers an `ADAPTER` is found here; nothing else has to be edited."""
