"""The fixed-type baseline: presidio with the entities it comes with, run offline over the texts of events."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pyarrow as pa

from earwitness.audit import ner
from earwitness.audit.replay.anonymizer import load
from earwitness.audit.replayed.reading import contents
from earwitness.schema.case import Case
from earwitness.schema.errors import MissingExtraError
from earwitness.schema.progress import Progress

# The least score that counts, the default of presidio's own examples.
FLOOR = 0.35
_BATCH = 64


def find_presidio(case: Case, progress: Progress) -> None:
    """Fill `replay_found`. Texts that were looked at before are not looked at again.

    Raises:
        MissingExtraError: the extra `[presidio]` or its model is not installed.
    """
    load()
    sizes = [case.count(t) for t in ("contents", "events", "sources")]
    state = f"{sizes} {FLOOR}"
    if case.meta("presidio") == state:
        return
    engine = offline_engine()
    case.clear("replay_found")
    where = "content IN (SELECT content FROM events)"
    for ids, texts, base in contents(case, where, "looking with presidio", progress):
        rows = list(_find(engine, texts.to_pylist()))
        columns = list(zip(*rows, strict=True)) if rows else [()] * 5
        table = {
            "content": ids.take(pa.array(columns[0], pa.int64())),
            "start": pa.array([base + n for n in columns[1]], pa.int64()),
            "stop": pa.array([base + n for n in columns[2]], pa.int64()),
            "entity": pa.array(columns[3], pa.string()),
            "confidence": pa.array(columns[4], pa.float64()),
        }
        case.insert("replay_found", pa.table(table))
    case.set_meta("presidio", state)


def _find(engine: Any, texts: list[str]) -> Iterator[tuple[int, int, int, str, float]]:
    """Row, start, stop, entity, score; distinct texts go through the model together."""
    batch = engine.nlp_engine.process_batch(texts, language="en", batch_size=_BATCH)
    for row, (text, artifacts) in enumerate(batch):
        for r in engine.analyze(text, "en", nlp_artifacts=artifacts, score_threshold=FLOOR):
            yield row, r.start, r.end, r.entity_type, float(r.score)


def offline_engine() -> Any:
    """Presidio's analyzer with all its own recognizers for English and the known model, and nothing that calls out.

    Its recognizer of e-mail addresses fetches the list of public suffixes from two hosts; here the list that
    comes with tldextract is used.
    """
    try:
        analyzer = import_module("presidio_analyzer")
        predefined = import_module("presidio_analyzer.predefined_recognizers")
        provider = import_module("presidio_analyzer.nlp_engine").NlpEngineProvider
        extract = import_module("tldextract").TLDExtract(suffix_list_urls=())
    except ImportError:
        raise MissingExtraError("presidio is not installed; `pip install earwitness[presidio]`") from None
    if not ner.available():
        raise MissingExtraError("the model presidio needs is not installed; `pip install earwitness[presidio]`")

    class Offline(predefined.EmailRecognizer):  # type: ignore[misc, name-defined]
        """E-mail addresses, without the network."""

        def validate_result(self, pattern_text: str) -> bool:
            return bool(extract(pattern_text).fqdn)

    model = {"lang_code": "en", "model_name": ner.PACKAGE.replace("-", "_")}
    engine = provider(nlp_configuration={"nlp_engine_name": "spacy", "models": [model]}).create_engine()
    registry = analyzer.RecognizerRegistry()
    registry.load_predefined_recognizers(nlp_engine=engine, languages=["en"])
    registry.remove_recognizer("EmailRecognizer")
    registry.add_recognizer(Offline())
    return analyzer.AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=["en"])
