"""Stems of English words: what is left when endings are taken off; common words have none.

Rules, not a dictionary: a stem need not be a word, it only has to be the same for forms of one word.
"""

import re
from pathlib import Path

_HERE = Path(__file__).parent
_COMMON = frozenset((_HERE / "common.txt").read_text(encoding="utf-8").split())
_IRREGULAR = {
    form: root
    for root, forms in {
        "buy": "bought",
        "sell": "sold",
        "tell": "told",
        "pay": "paid pays paying payment payments",
        "leave": "left leaving",
        "find": "found",
        "give": "gave given giving",
        "keep": "kept",
        "lose": "lost losing loss losses",
        "hold": "held",
        "meet": "met",
        "speak": "spoke spoken",
        "write": "wrote written writing",
        "fall": "fell fallen",
        "feel": "felt",
        "bring": "brought",
        "think": "thought",
        "catch": "caught",
        "teach": "taught",
        "hide": "hid hidden hiding",
        "drive": "drove driven driving",
        "begin": "began begun beginning",
        "break": "broke broken",
        "choose": "chose chosen choosing choice choices",
        "steal": "stole stolen",
        "send": "sent",
        "spend": "spent",
        "sleep": "slept",
        "die": "died dying dead death deaths dies",
        "marry": "married marriage marriages marries",
        "child": "children kid kids",
        "apply": "applied applies applying application applications applicant applicants",
        "reply": "replied replies replying",
        "supply": "supplied supplies supplying supplier suppliers",
        "diagnos": "diagnosis diagnoses diagnosed diagnose diagnosing diagnostic",
        "medic": "medicine medicines medical medically medication medications meds",
        "acquir": "acquire acquired acquires acquiring acquisition acquisitions",
        "man": "men",
        "woman": "women",
        "wife": "wives",
        "person": "people persons",
        "foot": "feet",
        "grow": "grew grown growth",
        "drink": "drank drunk",
        "fight": "fought",
        "win": "won winning",
        "two": "2",
        "three": "3",
        "four": "4",
        "five": "5",
        "six": "6",
        "seven": "7",
        "eight": "8",
        "nine": "9",
        "ten": "10",
    }.items()
    for form in [*forms.split(), root]
}
_VOWEL = re.compile(r"[aeiouy]")
# Endings that make another word of the same root; the longest that fits is taken.
_ENDINGS = frozenset((_HERE / "endings.txt").read_text(encoding="utf-8").split())
_LONGEST_ENDING = max(map(len, _ENDINGS))


def stem(word: str) -> str | None:
    """The stem of a word in lower case; None where it is a common word or a single letter."""
    if word in _COMMON or (len(word) < 2 and not word.isdigit()):
        return None
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if not word.isascii() or not word.isalpha():
        return word.lstrip("0") or word
    return _strip(word)


def _strip(word: str) -> str:
    for _ in range(3):
        shorter = _shorten(word)
        if shorter == word:
            break
        word = shorter
    return _singled(word)


def _shorten(word: str) -> str:
    for length in range(min(_LONGEST_ENDING, len(word) - 3), 0, -1):
        ending, rest = word[-length:], word[:-length]
        if ending in _ENDINGS and _long_enough(rest, ending) and not (ending == "s" and word.endswith("ss")):
            return _singled(rest) if ending in ("ing", "ings", "ed", "er", "ers") else rest
    return word


def _long_enough(rest: str, ending: str) -> bool:
    return len(rest) >= (3 if len(ending) <= 3 else 4) and bool(_VOWEL.search(rest))


def _singled(word: str) -> str:
    """`stopp` and `stop` are one stem."""
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiou" else word
