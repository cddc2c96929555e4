"""Every error the library raises on purpose.

```
EarwitnessError          something the caller can mend; exit code 2
├── InputError           a trace file or folder that cannot be read at all
├── PolicyError          a policy or vault file that does not hold together
├── CaseError            a case file that is missing, foreign or of another version
└── MissingExtraError         something that needs an optional dependency which is not installed
```

A bad *record* is never an error: it becomes a row in `records` and the run goes on.
No message ever quotes trace content or a protected value.
"""


class EarwitnessError(Exception):
    """Base of all errors a caller can mend: the message names the file, the place, the cause and the cure."""


class InputError(EarwitnessError):
    """A trace file or folder that cannot be read at all."""


class PolicyError(EarwitnessError):
    """A policy or vault file that does not hold together."""


class CaseError(EarwitnessError):
    """A case file that is missing, foreign or of another version."""


class MissingExtraError(EarwitnessError):
    """Something was asked for that needs an optional dependency which is not installed."""
