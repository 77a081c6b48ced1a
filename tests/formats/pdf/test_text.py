"""Pages whose text layer is not what they show."""

from __future__ import annotations

import pytest

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.pdf.text import is_garbled
from tests.formats.pdf.samples import BODY, parse, pdf

ENGLISH = "The lamp of the harbour was lit in the year of the storm by the daughter of the keeper."
CZECH = "Maj\u00e1k v p\u0159\u00edstavu rozsv\u00edtila roku bou\u0159e dcera str\u00e1\u017ece a pak \u0161la dom\u016f spat jako ka\u017ed\u00fd ve\u010der."
VIETNAMESE = "Ng\u1ecdn \u0111\u00e8n bi\u1ec3n \u0111\u01b0\u1ee3c th\u1eafp l\u00ean v\u00e0o n\u0103m b\u00e3o b\u1edfi con g\u00e1i c\u1ee7a ng\u01b0\u1eddi g\u00e1c \u0111\u00e8n."
HINDI = "\u092c\u0902\u0926\u0930\u0917\u093e\u0939 \u0915\u093e \u0926\u0940\u092a\u0915 \u0924\u0942\u092b\u093e\u0928 \u0915\u0947 \u0935\u0930\u094d\u0937 \u092e\u0947\u0902 \u091c\u0932\u093e\u092f\u093e \u0917\u092f\u093e \u0925\u093e\u0964"
RUSSIAN = "\u041c\u0430\u044f\u043a \u0432 \u0433\u0430\u0432\u0430\u043d\u0438 \u0437\u0430\u0436\u0433\u043b\u0430 \u0432 \u0433\u043e\u0434 \u0431\u0443\u0440\u0438 \u0434\u043e\u0447\u044c \u0441\u043c\u043e\u0442\u0440\u0438\u0442\u0435\u043b\u044f."
SHIFTED = "".join(chr(ord(char) - 29) if char.isalpha() else char for char in ENGLISH)
LEGACY = "Hkkjr ds jk\"V\u00aah; k/kt dk izFke ckj Qgjkus dk le; rFkk LFkku fuf'pr fd;k x;k Fkk"


@pytest.mark.parametrize(
    "text",
    [
        SHIFTED,
        LEGACY,
        RUSSIAN.encode("cp1251").decode("latin-1"),
        "\u022e\u023e\u0269\u01b1BU\u0268k \u02b7\u024b\u0155\u018a\u01be3\u01ac\u02e3 \u01d5\u01a9\u01cdS\u0254",
        " ".join(
            word[1:] + word[0] if word[1:2] in "\u093e\u0940\u0947\u0942" else word for word in HINDI.split()
        ),
        "The \ufffd\ufffd\ufffd of 5 \ufffd\ufffd and 6 \ufffd",
    ],
    ids=[
        "shifted",
        "legacy font",
        "Cyrillic as Latin",
        "phonetic letters",
        "signs without consonants",
        "unknown",
    ],
)
def test_text_that_no_language_has_is_garbled(text: str) -> None:
    assert is_garbled([text] * 12)


@pytest.mark.parametrize(
    "text", [ENGLISH, CZECH, VIETNAMESE, HINDI, RUSSIAN, "\u706f\u5854\u662f1911\u5e74\u70b9\u4eae\u7684" * 5]
)
def test_text_of_a_language_is_not(text: str) -> None:
    assert not is_garbled([text] * 12)


@pytest.mark.parametrize(
    "line",
    [
        "1 | 23,456 | 0.78 | 91 | 4,503 | 2.6",
        "ACGTTGCA GGTCCATA TTGGACCT ACGTACGT",
        "for i in range(n): x = f(a[i] + b[j]);",
    ],
)
def test_numbers_sequences_and_listings_are_not(line: str) -> None:
    assert not is_garbled([line] * 20)


def test_a_document_of_garbled_pages_has_this_outcome_and_names_them() -> None:
    bad = "\n".join([SHIFTED] * 12)
    good = "\n".join([*BODY, ENGLISH])
    with pytest.raises(
        DocumentError, match=r"the text of 2 pages is not what the page shows .*: 1, 3"
    ) as failure:
        parse(pdf(bad, good, bad))
    assert failure.value.outcome == "garbled"
    entry = parse(pdf(good, bad, good))
    assert (SHIFTED in entry.text, entry.detail.endswith(": 2")) == (False, True)


def test_a_page_that_asks_to_wait_is_garbled() -> None:
    wait = (
        "Please wait...\nIf this message is not eventually replaced with the proper contents of the document, your PDF\n"
        "viewer may not be able to display this type of document."
    )
    with pytest.raises(DocumentError) as failure:
        parse(pdf(wait))
    assert failure.value.outcome == "garbled"
