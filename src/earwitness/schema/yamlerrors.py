"""What is wrong with a YAML file, told with file and line."""

from collections.abc import Iterator
from contextlib import contextmanager

import yaml

from earwitness.schema.errors import EarwitnessError


@contextmanager
def told_as(error_class: type[EarwitnessError], name: str) -> Iterator[None]:
    """Errors of decoding and parsing inside become `error_class`; `name` is what they call the file."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise error_class(f"{name}: not UTF-8 at byte {error.start}; save the file as UTF-8") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise error_class(f"{name}:{line}: not YAML: {error.problem or 'cannot be parsed'}") from None
    except (yaml.YAMLError, RecursionError):
        raise error_class(f"{name}: not YAML (control characters or nested too deep)") from None
