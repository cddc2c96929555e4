"""Large files from small samples: many copies of one sample, each with ids and words of its own.

A golden sample shows a format as it is, but it is tiny and its texts are a few words long. A copy is the sample with

* every id replaced by another of the same shape: what stands under a key that names an id, and every UUID and every
  long hexadecimal number, wherever it occurs again - in JSON inside text, in a log line, in a Python repr. Hexadecimal
  stays so, of the same length; other ids get an ending;
* every content made longer: behind each run of plain words come some 200 to 2,000 characters of further words, the
  same ones wherever that content is repeated, and different ones in every copy. Recordings keep the contents they
  have, and a number is set behind each run.

So a copy repeats what the sample repeats and nothing else, and no copy is a duplicate of another.
"""

import base64
import binascii
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator
from hashlib import md5
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

_SHORTEST, _LONGEST = 200, 2000
_POOL = 1 << 22
_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
# Digits alone may be a time.
_HEX_ID = r"0x[0-9a-f]{16,32}|(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{16,32}"
_SURE = re.compile(rf"(?<![\w-])(?:{_UUID}|{_HEX_ID})(?![\w-])")
_ID_KEY = re.compile(r"(?:.*[_.])?(?:id|ids|uid|uuid|guid|trace|session|thread|conversation)|.*(?:Id|ID|Ids|Uuid)|id_")
_REPR_ID = re.compile(r"\b(?:id|\w+_id)=\\?['\"]([\w:./-]+)\\?['\"]")
_REPR_TEXT = re.compile(r"\b(?:content|text|arguments|output|task)=\\?['\"](.+?)\\?['\"]")
_RUN_KEY = re.compile(r"(?i).*(?:trace|session|thread|conversation|chat|group)_?(?:id)?")
_NO_ID_KEY = re.compile(r".*(?:agent|actor|model|tool|app|author|sender|recipient|entity|kind|topic)_?(?:id|Id|ID)s?")
# With a digit or a sign in it, or as ADK draws them: eight letters, large and small.
_ID = re.compile(r"(?=.*[0-9_-])[\w:./=+-]{2,80}|(?=.*[a-z])(?=.*[A-Z])[A-Za-z]{8}")
_INTEGER_ID = re.compile(r'((?:"|\\")(?:id|\w+_id|seq|seqnum)\\?": ?)(\d+)(?=[,}\s])')
_HEX = re.compile(r"[0-9a-f]{8,}|[0-9A-F]{8,}")
_CONTENT_KEY = re.compile(
    r"(?i).*(?:content|text|output|result|answer|response|reason\w*|thought|summary|query|prompt|instructions?|body|raw"
    r"|parts|description|arguments|args|input|kwargs|note|value|message|observation|task|question|line)|delta|[a-z]"
)
_NAMES = re.compile(r"(?i).*(?:name|role|agent|assistant|author|source|sender|recipient|type|model|id|status|title)s?")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]")
# A run of plain words: the same bytes in JSON, in JSON inside JSON and in a repr.
_RUN = re.compile(r"[A-Za-z][A-Za-z0-9 ,;%$@/-]*[A-Za-z0-9]\.?")
# Words of frameworks that readers go by.
_SPOKEN = re.compile(r"(?i)transfer|handoff|handed|final answer|next speaker|terminat|observation|calling|execut")
_WORDS = (
    "amber bridge canal draft early field garden harbour island journey kettle ladder meadow notice orchard paper quiet"
    " river station table under valley winter yellow autumn basket candle dinner engine forest gentle hollow indoor"
)

Fill = Callable[[int], str]


class Sample(NamedTuple):
    """A sample taken apart: literal text at even positions, what a copy fills in at odd ones."""

    pieces: list[str]
    fills: list[Fill]

    def copy(self, number: int) -> str:
        """The sample with the ids and words of one copy; number 0 has the ids of all others too."""
        made = [fill(number) for fill in self.fills]
        out = [self.pieces[0]]
        for words, piece in zip(made, self.pieces[1:], strict=True):
            out += (words, piece)
        return "".join(out)


def prepare(path: Path, names: Iterable[str] = (), *, one: bool = False, grow: bool = True) -> Sample:
    """Find the ids and contents of a sample; JSON that is laid out over lines becomes one line a value.

    Args:
        path: of the sample.
        names: what else identifies a run, where a format knows no ids.
        one: all copies belong to one trace, session or thread.
        grow: contents become longer; else they get no more than a number that makes them distinct.
    """
    text, values = _flat(path)
    ids = {*names, *_SURE.findall(text), *_REPR_ID.findall(text), *(i for v in values for i in _ids(v))}
    ids = {i for i in ids if i.strip("0x")}
    if one:
        ids -= {i for v in values for i in _ids(v, keys=_RUN_KEY)}
    runs = {r for v in values for key, t in _texts(v) for r in _runs(key, t)}
    return _cut(text, ids, runs - ids - {t for v in values for key, t in _texts(v) if _NAMES.fullmatch(key)}, grow)


def write(
    path: Path, sample: Path, size: float, names: Iterable[str] = (), *, one: bool = False, grow: bool = True
) -> int:
    """Copies of a sample, as many as make a file of `size` bytes; gives their number. For the rest see `prepare`."""
    prepared = prepare(sample, names, one=one, grow=grow)
    array = _is_array(sample)
    with path.open("w", encoding="utf-8", errors="surrogateescape") as out:
        out.write("[\n" if array else "")
        for number in count():
            text = prepared.copy(number)
            out.write(text if not array or number == 0 else ",\n" + text)
            if out.tell() >= size:
                break
        out.write("]\n" if array else "")
    return number + 1


def _is_array(sample: Path) -> bool:
    return sample.suffix == ".json" and sample.read_text().lstrip().startswith("[")


def _flat(path: Path) -> tuple[str, list[Any]]:
    """The text of a sample with a value a line, and its values."""
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    try:
        values = [json.loads(text)]
        lines = values[0] if _is_array(path) else values
        joint = ",\n" if _is_array(path) else "\n"
        return joint.join(json.dumps(v, ensure_ascii=False) for v in lines) + "\n", values
    except json.JSONDecodeError:
        return text if text.endswith("\n") else text + "\n", list(_line_values(text))


def _line_values(text: str) -> Iterator[Any]:
    """The JSON value of each line, also behind a prefix, else the line."""
    decoder = json.JSONDecoder(strict=False)
    for line in text.split("\n"):
        at = min((n for n in (line.find("{"), line.find("[{")) if n >= 0), default=-1)
        try:
            yield decoder.raw_decode(line, at)[0] if at >= 0 else {"line": line}
        except json.JSONDecodeError:
            yield {"line": line}


def _ids(value: Any, key: str = "", keys: re.Pattern[str] = _ID_KEY) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _ids(inner, name, keys)
    elif isinstance(value, list):
        for inner in value:
            yield from _ids(inner, key, keys)
    elif isinstance(value, str):
        inner = _inside(value)
        if inner is not None:
            yield from _ids(inner, "", keys)
        elif keys.fullmatch(key) and _is_id(key, value):
            yield value


def _is_id(key: str, value: str) -> bool:
    return not _NO_ID_KEY.fullmatch(key) and _ID.fullmatch(value) is not None and not _TIME.match(value)


def _texts(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """The texts in a value with the keys they stand under, also in JSON inside text; below a content all is content."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts(inner, key if _CONTENT_KEY.fullmatch(key) and not _NAMES.fullmatch(name) else name)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, key)
    elif isinstance(value, str):
        inner = _inside(value)
        if inner is not None:
            yield from _texts(inner, "content")
        else:
            yield key, value


def _inside(text: str) -> Any:
    if not text.startswith(("{", "[", '"')):
        return None
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return None


def _runs(key: str, text: str) -> list[str]:
    """The last run of plain words of a text, if it has one: three words, two where a key says that it is content."""
    printed = [r for t in _REPR_TEXT.findall(text) for r in _runs("content", t)]
    if text.startswith(("{", "[", "<")) or printed:
        return printed
    spaces, letters = (1, 6) if _CONTENT_KEY.fullmatch(key) else (2, 12)
    found = [r for r in _RUN.findall(text) if r.count(" ") >= spaces and len(r) >= letters and not _SPOKEN.search(r)]
    return found[-1:]


def _cut(text: str, ids: set[str], runs: set[str], grow: bool) -> Sample:
    """The text around its ids, integer ids and runs, longest first where one holds another."""
    plain = "|".join(re.escape(r) for r in sorted(runs, key=len, reverse=True)) or r"(?!)"
    named = "|".join(re.escape(i) for i in sorted(ids, key=len, reverse=True)) or r"(?!)"
    pattern = re.compile(rf"(?P<run>{plain})|(?<![\w-])(?P<id>{named})(?![\w-])|(?P<n>{_INTEGER_ID.pattern})")
    pieces, fills, at = [], list[Fill](), 0
    made: dict[str, Fill] = {}
    for match in pattern.finditer(text):
        pieces.append(text[at : match.start()])
        fills.append(made.setdefault(match[0], _fill(match, grow)))
        at = match.end()
    return Sample([*pieces, text[at:]], fills)


def _fill(match: re.Match[str], grow: bool) -> Fill:
    if match["run"]:
        return _longer(match["run"]) if grow else _numbered(match["run"])
    return _other_id(match["id"]) if match["id"] else _other_number(match)


def _numbered(run: str) -> Fill:
    """The run, and which copy it stands in."""
    bare = run.removesuffix(".")
    return lambda number: f"{bare} {number}{run[len(bare) :]}"


def _longer(run: str) -> Fill:
    """The run and more words: as many in every copy, but others."""
    seed = int.from_bytes(md5(run.encode(), usedforsecurity=False).digest()[:4], "big")
    length = round(_SHORTEST * (_LONGEST / _SHORTEST) ** (seed % 997 / 997))
    bare = run.removesuffix(".")
    end = run[len(bare) :]

    def fill(number: int) -> str:
        start = (seed + number * 7919) % (_POOL - length)
        return f"{bare} case {seed % 9973} of {number} {pool()[start : start + length].strip()}{end}"

    return fill


_pool: list[str] = []


def pool() -> str:
    """Words without end: every content takes its own from here."""
    if not _pool:
        chosen = random.Random(7)  # noqa: S311 - words, no secrets
        _pool.append(" ".join(chosen.choices(_WORDS.split(), k=_POOL // 5))[:_POOL])
    return _pool[0]


def _other_id(old: str) -> Fill:
    longest = max(_HEX.finditer(old), key=lambda m: len(m[0]), default=None)
    hexadecimal = len(old) in (16, 32)

    def fill(number: int) -> str:
        digest = md5(f"{old}:{number}".encode(), usedforsecurity=False)
        if old.isdecimal() and not hexadecimal:
            return old[0] + str(int(digest.hexdigest(), 16))[: max(len(old) - 1, 6)]
        if longest:
            new = digest.hexdigest()[: len(longest[0])].ljust(len(longest[0]), "a")
            return old[: longest.start()] + new + old[longest.end() :]
        return _as_base64(old, digest.digest()) or f"{old}x{number:x}"

    return fill


def _as_base64(old: str, digest: bytes) -> str:
    try:
        size = len(base64.b64decode(old, validate=True)) if old.endswith("=") else 0
    except binascii.Error:
        return ""
    return base64.b64encode(digest[:size]).decode()


def _other_number(match: re.Match[str]) -> Fill:
    head, number = match[0].rstrip("0123456789"), int(match[0][len(match[0].rstrip("0123456789")) :])
    return lambda n: f"{head}{number + n * 1000}"
