"""Reads the licence and the attribution that the XML of a document states, as JATS or as the XMP metadata of a PDF."""

import re
from collections import defaultdict

from qagen_dagster.formats.jats.inline import Element, line_of, local
from qagen_dagster.records.document import Rights

_LONGEST = 300  # characters of a text
_DEED = re.compile(r"creativecommons\.org/(?:licen[cs]es/(by[a-z-]{0,9})/(\d\.\d)|publicdomain/(zero|mark))")
_NAMES = {"creative commons": "cc", "non-?commercial": "nc", "no-?deriv(?:ative)?s?": "nd", "share-?alike": "sa", "attribution": "by"}  # fmt: skip
_SHORT = re.compile(r"\bcc[ -]{1,2}(by(?:[ -]{1,2}(?:n[cd]|sa))*)\b\D{0,60}?([1-4]\.\d)|\bcc[ -]?(0|zero)\b")
_LICENCES = ("license", "license_ref", "UsageTerms", "WebStatement")
_STATEMENTS = ("copyright-statement", "rights", "copyright-holder")
_ADDRESS = re.compile(r"https?://[^\s<>\"]{4,300}")


def rights_in(root: Element) -> Rights:
    """The rights that `root` states. The licence is the identifier of a Creative Commons licence if found, else an address, else a text."""
    stated: defaultdict[str, list[str]] = defaultdict(list)
    for one in root.iter():
        stated[local(one)].append(line_of(one))
        for key, value in one.attrib.items():
            name = str(key).rpartition("}")[2]
            stated[local(one) if name in ("resource", "href") else name].append(" ".join(str(value).split()))
    statements = [text for name in _STATEMENTS for text in stated[name] if text]
    texts = [text for name in _LICENCES for text in stated[name] if text]
    texts += [text for text in statements if "licen" in text.casefold()]
    links = (*stated["license-type"], *stated["ext-link"], *stated["uri"])
    known = (found for text in (*texts, *links, *statements) if (found := spdx(text)))
    addresses = (found[0].rstrip(".,;)") for text in texts if (found := _ADDRESS.search(text)))
    licence = next((one[:_LONGEST] for some in (known, addresses, texts) for one in some), None)
    return Rights(licence=licence, attribution=next((statement[:_LONGEST] for statement in statements), None))


def spdx(text: str) -> str | None:
    """The SPDX identifier of a Creative Commons licence that a text states, by its address, or by its name with a version (CC0 needs no
    version); None if the text states none."""
    short = text.casefold()
    found = _DEED.search(short)
    if found is None:
        for name, sign in _NAMES.items():
            short = re.sub(name, sign, short)
        found = _SHORT.search(short)
    if found is None:
        return None
    terms, version, public = found.groups()
    if public:
        return "CC-PDM-1.0" if public == "mark" else "CC0-1.0"
    return f"CC-{'-'.join(re.split('[ -]+', terms)).upper()}-{version}"
