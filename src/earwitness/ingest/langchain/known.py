"""Messages that were told, found again by what their copies keep."""

from earwitness.ingest.langchain.book import Book
from earwitness.ingest.langchain.drafts import Said
from earwitness.ingest.langchain.index import Index
from earwitness.ingest.langchain.messages import Msg
from earwitness.ingest.shelf import Texts
from earwitness.ingest.spans.texts import fingerprint


class Known:
    """The messages of one trace, by number.

    Args:
        said: the messages.
        texts: what they say.
        results: numbers of messages that answer calls, by the id of the call; shared with the calls.
    """

    def __init__(self, said: Book[Said], texts: Texts, results: Index) -> None:
        self._said, self._texts_of = said, texts
        self._results = results
        self._by_id = Index()
        self._versions = Index()
        self._by_text: Index | None = None  # made for the first message without an id
        self._texts = 0
        self._nameless = False  # whether there are any without an id

    def __len__(self) -> int:
        """The number of texts."""
        self._texts_known()
        return self._texts

    def find(self, msg: Msg) -> int | None:
        """The message that this one is a copy of: by the call it answers, by its id, or else by its text."""
        found = self._results.get(msg.call_id) if msg.role == "tool" and msg.call_id is not None else None
        if found is None and msg.id:
            found = self._by_id.get(msg.id)
        if found is not None or (msg.id and not self._nameless):
            return found
        found = self._texts_known().get(text_key(msg))
        if found is None:
            return None
        said = self._said[found]
        return found if not (said.has_id and msg.id) and _fits(said, msg) else None

    def add(self, msg: Msg, number: int) -> None:
        """A message that is told now, and is the last of `said`."""
        if msg.id:
            self._by_id.put(msg.id, number)
        else:
            self._nameless = True
        if msg.call_id and msg.role == "tool":
            self._results.put(msg.call_id, number)
        if self._by_text is not None:
            self._enter(self._by_text, self._key(self._said[number]), number)

    def _enter(self, texts: Index, key: int, number: int) -> None:
        """The latest message of a text is the one that is found."""
        self._texts += texts.get(key) is None
        texts.put(key, number)

    def _texts_known(self) -> Index:
        if self._by_text is None:
            self._by_text = Index()
            for number, said in enumerate(self._said):
                self._enter(self._by_text, self._key(said), number)
        return self._by_text

    def _key(self, said: Said) -> int:
        return _keyed(said.role, self._texts_of.text(said.kept)) if said.key is None else said.key

    def version(self, msg: Msg) -> int | None:
        """The message of an id that says what this one says; a later one of that id may say something else."""
        return self._versions.get((msg.id, fingerprint(msg.text))) if msg.id else None

    def keep_version(self, msg: Msg, number: int) -> None:
        """A message that has more than one version, or the other one."""
        self._versions.put((msg.id, fingerprint(msg.text)), number)

    def has_id(self, message: str) -> bool:
        """Whether a message of an id was told."""
        return self._by_id.get(message) is not None

    def spoken(self, msg: Msg) -> Msg:
        """A message that was given to others as a human's, as what the agent said who signs it."""
        copy = self._by_id.get(msg.id) if msg.id else None
        if copy is None:
            copy = self.find(Msg(role="ai", text=msg.text, name=msg.name))
            if copy is not None and msg.id:
                self._by_id.put(msg.id, copy)
        return Msg(role="ai", text=msg.text, id=msg.id, name=msg.name)


def text_key(msg: Msg) -> int:
    """The same for messages that say the same: their text, or where there is none their calls."""
    silent = not msg.text.strip()
    calls = "".join(c.id or c.name + c.arguments for c in msg.calls) if silent else ""
    return _keyed(msg.role + (msg.call_id or ""), msg.text, calls)


def early_key(msg: Msg) -> int | None:
    """The same, unless it follows from role and text: in most traces all messages have ids, and nobody asks for it."""
    return None if msg.id and not msg.call_id and msg.text.strip() else text_key(msg)


def _keyed(of: str, text: str, calls: str = "") -> int:
    return hash((of, fingerprint(text), calls))


def _fits(said: Said, msg: Msg) -> bool:
    """Two messages of one text are not copies if two agents sign them, make other calls, or say nothing."""
    names_differ = said.name and msg.name and said.name != msg.name
    calls_differ = said.calls and msg.calls and said.calls != tuple(c.id for c in msg.calls)
    return not (names_differ or calls_differ) and said.says
