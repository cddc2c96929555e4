"""National and tax identity numbers of several countries, decided by their check digits (python-stdnum).

A shape that is unmistakable with its check digit stands alone; plain digits need the country's word beside them.
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from earwitness.audit.recognizers.base import Found, Recognizer, near


class _Kind(NamedTuple):
    entity: str
    shape: str
    module: str | None
    cue: str | None


# Entity, shape, module of stdnum that knows the check digit, keyword where the shape alone says too little.
_KINDS = (
    _Kind("UK_NINO", r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]", None, None),
    _Kind("UK_NHS", r"[0-9]{3}[ -]?[0-9]{3}[ -]?[0-9]{4}", "gb.nhs", r"\bnhs\b"),
    _Kind("UK_UTR", r"[0-9]{5} ?[0-9]{5}", "gb.utr", r"\butr\b|taxpayer reference"),
    _Kind("DE_TAX_ID", r"[0-9]{2} ?[0-9]{3} ?[0-9]{3} ?[0-9]{3}", "de.idnr", r"steuer|\btax id|idnr"),
    _Kind("FR_NIR", r"[12][ ]?[0-9]{2}[ ]?[0-9]{2}[ ]?[0-9AB]{2}[ ]?[0-9]{3}[ ]?[0-9]{3}[ ]?[0-9]{2}", "fr.nir", None),
    _Kind("ES_DNI", r"[0-9]{8}-?[A-HJ-NP-TV-Z]", "es.dni", None),
    _Kind("ES_NIE", r"[XYZ]-?[0-9]{7}-?[A-HJ-NP-TV-Z]", "es.nie", None),
    _Kind("IT_CODICE_FISCALE", r"[A-Z]{6}[0-9]{2}[A-EHLMPRST][0-9]{2}[A-Z][0-9]{3}[A-Z]", "it.codicefiscale", None),
    _Kind("NL_BSN", r"[0-9]{4}[ .]?[0-9]{2}[ .]?[0-9]{3}", "nl.bsn", r"\bbsn\b|burgerservice|sofi"),
    _Kind("BE_NATIONAL_NUMBER", r"[0-9]{2}\.[0-9]{2}\.[0-9]{2}-[0-9]{3}\.[0-9]{2}", "be.nn", None),
    _Kind("PL_PESEL", r"[0-9]{11}", "pl.pesel", r"\bpesel\b"),
    _Kind("SE_PERSONNUMMER", r"(?:19|20)?[0-9]{6}[-+][0-9]{4}", "se.personnummer", r"person(?:nummer|al)"),
    _Kind("FI_HETU", r"[0-3][0-9][01][0-9]{3}[-+A][0-9]{3}[0-9A-FHJ-NPR-Y]", "fi.hetu", None),
    _Kind("DK_CPR", r"[0-3][0-9][01][0-9]{3}-?[0-9]{4}", "dk.cpr", r"\bcpr\b"),
    _Kind("NO_FODSELSNUMMER", r"[0-9]{6} ?[0-9]{5}", "no.fodselsnummer", r"f[øo]dsel|personnummer"),
    _Kind("CH_AHV", r"756[.]?[0-9]{4}[.]?[0-9]{4}[.]?[0-9]{2}", "ch.ssn", None),
    _Kind("CA_SIN", r"[0-9]{3}[ -]?[0-9]{3}[ -]?[0-9]{3}", "ca.sin", r"\bsin\b|social insurance"),
    _Kind("AU_TFN", r"[0-9]{3} ?[0-9]{3} ?[0-9]{2,3}", "au.tfn", r"\btfn\b|tax file"),
    _Kind("IN_AADHAAR", r"[2-9][0-9]{3}[ -]?[0-9]{4}[ -]?[0-9]{4}", "in_.aadhaar", r"aa?dh?aa?r"),
    _Kind("IN_PAN", r"[A-Z]{3}[ABCFGHJLPT][A-Z][0-9]{4}[A-Z]", "in_.pan", r"\bpan\b|permanent account"),
    _Kind("BR_CPF", r"[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}", "br.cpf", None),
    _Kind("CN_RIC", r"[1-9][0-9]{5}(?:19|20)[0-9]{9}[0-9X]", "cn.ric", None),
    _Kind("MX_CURP", r"[A-Z]{4}[0-9]{6}[HM][A-Z]{5}[A-Z0-9][0-9]", "mx.curp", None),
    _Kind("KR_RRN", r"[0-9]{6}-[1-8][0-9]{6}", "kr.rrn", None),
    _Kind("ZA_ID", r"[0-9]{10}[01][89][0-9]", "za.idnr", r"\bid (?:no|num)|identity"),
)
_SHAPES = tuple(
    (
        kind,
        re.compile(rf"(?<![\w.+-]){kind.shape}(?![\w-]|[.][0-9])"),
        re.compile(kind.cue, re.IGNORECASE) if kind.cue else None,
    )
    for kind in _KINDS
)


# In the words themselves no case is folded that Rust's engine folds otherwise, and nothing is asserted.
_GAP = (
    r"[A-Za-z]{0,12}(?i:[ _-]?(?:security|insurance|number|nummer|num|no|nr|id|card|is|file|code)){0,3}[ :=#.\"'*]{1,6}"
)
_CUES = [k.cue.replace(r"\b", "") for k in _KINDS if k.cue]


@cache
def _module(name: str) -> Any:
    return import_module(f"stdnum.{name}")


def _look(text: str, start: int, stop: int, /) -> Iterator[Found]:
    for kind, shape, cue in _SHAPES:
        if cue and not cue.search(text, max(0, start - 40), stop):
            continue
        for match in shape.finditer(text, start, stop):
            cued = cue is not None and near(cue, text, match.start())
            if (cued or not cue) and (found := _check(kind, match)):
                yield found


def _check(kind: _Kind, match: "re.Match[str]") -> Found | None:
    if kind.module is None:
        compact = match.group().replace(" ", "")
        return Found(*match.span(), 0.85, compact, strong=True, entity=kind.entity)
    module = _module(kind.module)
    if not module.is_valid(match.group()):
        return None
    return Found(*match.span(), 0.95, module.compact(match.group()), strong=True, entity=kind.entity)


RECOGNIZER = Recognizer(
    name="national_id",
    entity="NATIONAL_ID",
    value_type="format_dependent",
    prefilter=rf"(?i:{'|'.join(_CUES)}){_GAP}[0-9A-Z]{{2}}|{'|'.join(k.shape for k in _KINDS if not k.cue)}",
    look=_look,
    reach=(16, 40),
)
