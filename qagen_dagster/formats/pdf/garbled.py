"""Finds pages whose text layer differs from what the page shows, because the file maps glyphs to wrong characters or to none.

A page is judged by its characters and by statistics that hold for every language in its script: the share of vowels, of
rare letters and of characters that cannot follow each other.
"""

import re
import unicodedata
from collections.abc import Sequence

_SAMPLE = 1_200  # characters from the middle of a page that are judged
_ENOUGH = 200  # minimum letters from which the statistics are reliable
_FEW = 20  # a page with at most this many phonetic, Latin-1 and Indic letters is not judged by them
_FILLING = re.compile(r"[\s.|…·_\-\u2013\u2014]+")
_WORDS = re.compile("[a-z]{4} [a-z]+ [a-z]")
_SAMPLED_LINES = 6  # lines in the middle of a page; a few words in them show that its text is meaningful
_HEAD = 400  # characters at the start of a page; a few words in them show that its text is meaningful
_MAX_UNKNOWN = 0.1  # share of characters that could not be read
_NO_LETTERS = bytes(code for code in range(256) if not (0x61 <= code <= 0x7A))
_ASCII = bytes(range(128))
_VOWELS = b"aeiouy"
_MIN_VOWELS = 0.22  # share of the letters; languages of the Latin script have at least 0.3
_MIN_ALPHABET = 12  # number of different letters; DNA sequences have fewer
# Letters of the Latin script that no language uses often: the letters of phonetics and of a few African languages.
_STRANGE = re.compile(
    "[\u0180-\u018e\u0193-\u019f\u01a2-\u01ae\u01b1-\u01cc\u01dd-\u0217\u021c-\u0258\u025a-\u02b9\u02c8-\u02d7\u0300-\u036f\u0370-\u0377]"
)
_MAX_STRANGE = 0.15  # share of the letters
_LATIN_1 = re.compile("[\xc0-\xff]")
_MAX_LATIN_1 = 0.5  # share of the letters; Cyrillic read as Latin has almost only these
_INDIC = re.compile("[\u0900-\u0d7f]")
_SCRIPTS = range(0x0900, 0x0D80, 0x80)  # starts of Indic scripts; their vowel signs have the same offsets
_SIGNS = "".join(f"{chr(start + 0x3E)}-{chr(start + 0x4C)}" for start in _SCRIPTS)
_KILLERS = "".join(chr(start + 0x4D) for start in _SCRIPTS)
_SIGN = re.compile(f"[{_SIGNS}]")
_MISPLACED = re.compile(f"(?:(?<![\u0900-\u0d7f])|(?<=[{_SIGNS}{_KILLERS}]))[{_SIGNS}]")
_MAX_MISPLACED = 0.1  # share of the vowel signs that follow no consonant
_BANG = re.compile(r"(?<![^\s(|])!(?= ?(?:\| )?\(?\d)")  # before an amount
_BANGS = 3  # minimum number of these on a page that shows no "$"


def is_garbled(texts: Sequence[str]) -> bool:
    """Whether the lines of a page probably differ from what the page shows."""
    page = "\n".join(texts)
    if page.count("\ufffd") > _MAX_UNKNOWN * len(page):
        return True
    start = max(len(page) - _SAMPLE, 0) // 2
    sample = page[start : start + _SAMPLE]
    if _lacks_vowels(sample):
        return True
    if sample.isascii():
        return _is_noise(texts)
    # The three patterns match no ASCII, and most samples are almost all ASCII.
    rare = sample.encode("utf-8", "replace").translate(None, _ASCII).decode()
    strange, latin, indic = (len(one.findall(rare)) for one in (_STRANGE, _LATIN_1, _INDIC))
    letters = sum(map(str.isalpha, sample)) if strange + latin + indic > _FEW else 0  # the sum is slow
    if letters < _ENOUGH:
        return _is_noise(texts)
    if indic:
        whole = unicodedata.normalize("NFC", sample)
        return len(_MISPLACED.findall(whole)) > _MAX_MISPLACED * max(len(_SIGN.findall(whole)), _ENOUGH // 4)
    return strange > _MAX_STRANGE * letters or latin > _MAX_LATIN_1 * letters or _is_noise(texts)


def _lacks_vowels(sample: str) -> bool:
    """Whether most characters are Latin letters, and too few of these letters are vowels."""
    plain = sample if sample.isascii() else unicodedata.normalize("NFD", sample)
    small = plain.lower().encode("utf-8", "replace")
    letters = small.translate(None, _NO_LETTERS)
    if len(letters) < _ENOUGH or 2 * len(letters) < len(small):
        return False
    few_vowels = len(letters) - len(letters.translate(None, _VOWELS)) < _MIN_VOWELS * len(letters)
    return few_vowels and len(set(letters)) >= _MIN_ALPHABET


def marked(texts: list[str]) -> list[str]:
    """The lines of a page, with U+FFFD for a currency symbol that the text layer gives as "!"."""
    if sum(text.count("!") for text in texts) < _BANGS or any("$" in text for text in texts):
        return texts
    found = [_BANG.subn("\ufffd", text) for text in texts]
    return [text for text, _ in found] if sum(count for _, count in found) >= _BANGS else texts


def _is_noise(texts: Sequence[str]) -> bool:
    """Whether most characters are neither letters nor digits, and no words show that the text is meaningful."""
    middle = len(texts) // 2
    if _WORDS.search("\n".join(texts[middle : middle + _SAMPLED_LINES])):
        return False
    words = " ".join(texts[:12])[:_HEAD].split()
    if sum(map(str.isalpha, words)) * 4 > len(words):
        return False
    shown = _FILLING.sub("", "".join(texts))
    return len(shown) > 80 and sum(map(str.isalnum, shown)) < 0.5 * len(shown)
