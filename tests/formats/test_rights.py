"""Licences as publishers and tools state them."""

from __future__ import annotations

import pymupdf
import pytest
from lxml import etree

from qagen_dagster.errors import DocumentError
from qagen_dagster.formats.base import ParseOptions, Source
from qagen_dagster.formats.jats.reader import JatsFormat
from qagen_dagster.formats.pdf.reader import PdfFormat
from qagen_dagster.formats.rights import rights_in, spdx
from qagen_dagster.records.document import Rights

XLINK = 'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:ali="http://www.niso.org/schemas/ali/1.0/"'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("http://creativecommons.org/licenses/by/4.0/", "CC-BY-4.0"),
        ("https://creativecommons.org/licenses/by-nc-nd/3.0/igo/", "CC-BY-NC-ND-3.0"),
        ("https://creativecommons.org/publicdomain/zero/1.0/", "CC0-1.0"),
        ("https://creativecommons.org/publicdomain/mark/1.0/", "CC-PDM-1.0"),
        ("CC BY 4.0", "CC-BY-4.0"),
        ("CC-BY-SA-4.0", "CC-BY-SA-4.0"),
        ("CC0", "CC0-1.0"),
        ("Creative Commons Attribution-NonCommercial 4.0 International License", "CC-BY-NC-4.0"),
        ("licensed under a Creative Commons Attribution License (CC BY), version 4.0", "CC-BY-4.0"),
        ("Creative Commons Attribution-NonCommercial-NoDerivatives 4.0", "CC-BY-NC-ND-4.0"),
        ("Creative Commons Attribution License, which permits unrestricted use", None),
        ("All rights reserved.", None),
        ("Version 4.0 of the ACC by Jones", None),
    ],
)
def test_creative_commons_licences_have_their_identifier(text: str, found: str | None) -> None:
    assert spdx(text) == found


@pytest.mark.parametrize(
    ("permissions", "licence", "attribution"),
    [
        (
            "<copyright-statement>© 2013 Vos et al</copyright-statement><copyright-year>2013</copyright-year>"
            '<license xlink:href="http://creativecommons.org/licenses/by/3.0/"><license-p>This article is distributed.'
            "</license-p></license>",
            "CC-BY-3.0",
            "© 2013 Vos et al",
        ),
        (
            '<license license-type="open-access"><ali:license_ref>https://creativecommons.org/licenses/by/4.0/'
            "</ali:license_ref><license-p>Open access.</license-p></license>",
            "CC-BY-4.0",
            None,
        ),
        (
            "<copyright-holder>The Authors</copyright-holder><license><license-p>This is an article under the terms of the "
            '<ext-link xlink:href="https://creativecommons.org/licenses/by-nc/4.0/">licence</ext-link>.</license-p></license>',
            "CC-BY-NC-4.0",
            "The Authors",
        ),
        (
            "<license><license-p>Elsevier user licence, see https://www.elsevier.com/tdm/userlicense/1.0/.</license-p></license>",
            "https://www.elsevier.com/tdm/userlicense/1.0/",
            None,
        ),
        ('<license license-type="CC BY 4.0"/>', "CC-BY-4.0", None),
        ('<license license-type="open-access"/>', None, None),
        ("<license><p>For research use only.</p></license>", "For research use only.", None),
        ("<copyright-statement>Copyright 2001 Ida</copyright-statement>", None, "Copyright 2001 Ida"),
        ("", None, None),
    ],
)
def test_permissions_of_articles(permissions: str, licence: str | None, attribution: str | None) -> None:
    article = (
        f"<article {XLINK}><front><article-meta><title-group><article-title>T</article-title></title-group>"
        f"<permissions>{permissions}</permissions></article-meta></front><body><p>Text.</p></body></article>"
    )
    expected = Rights(licence=licence, attribution=attribution)
    assert JatsFormat().rights(Source("a.xml", article.encode()), ParseOptions()) == {None: expected}
    both = f"<pmc-articleset>{article}{article}</pmc-articleset>"
    found = JatsFormat().rights(Source("a.xml", both.encode()), ParseOptions())
    assert found == {"article-1": expected, "article-2": expected}


XMP = (
    '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF '
    'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:cc="http://creativecommons.org/ns#" '
    'xmlns:xmpRights="http://ns.adobe.com/xap/1.0/rights/" {attributes}>{elements}</rdf:Description></rdf:RDF></x:xmpmeta>'
    '<?xpacket end="w"?>'
)


@pytest.mark.parametrize(
    ("attributes", "elements", "licence", "attribution"),
    [
        ("", '<cc:license rdf:resource="https://creativecommons.org/licenses/by/4.0/"/>', "CC-BY-4.0", None),
        ('xmpRights:WebStatement="http://creativecommons.org/licenses/by-sa/4.0/"', "", "CC-BY-SA-4.0", None),
        (
            "",
            '<dc:rights><rdf:Alt><rdf:li xml:lang="x-default">© 2020 Ida. CC BY 4.0</rdf:li></rdf:Alt></dc:rights>',
            "CC-BY-4.0",
            "© 2020 Ida. CC BY 4.0",
        ),
        (
            'xmpRights:Marked="True"',
            "<xmpRights:UsageTerms><rdf:Alt><rdf:li>Inside the company only.</rdf:li></rdf:Alt></xmpRights:UsageTerms>",
            "Inside the company only.",
            None,
        ),
        ("", "<dc:title>CC BY 4.0 explained</dc:title>", None, None),
    ],
)
def test_xmp_metadata_of_a_pdf(
    attributes: str, elements: str, licence: str | None, attribution: str | None
) -> None:
    with pymupdf.open() as pdf:
        pdf.new_page().insert_text((50, 50), "Text.")
        pdf.set_xml_metadata(XMP.format(attributes=attributes, elements=elements))
        data = pdf.tobytes()
    found = PdfFormat().rights(Source("a.pdf", data), ParseOptions())
    assert found == {None: Rights(licence=licence, attribution=attribution)}


@pytest.mark.parametrize("xmp", ["", "<rdf:RDF>"])
def test_a_pdf_with_missing_or_broken_metadata_states_nothing(xmp: str) -> None:
    with pymupdf.open() as pdf:
        pdf.new_page()
        pdf.set_xml_metadata(xmp)
        data = pdf.tobytes()
    with pytest.raises(DocumentError, match="not well-formed"):  # the caller takes that for nothing
        PdfFormat().rights(Source("a.pdf", data), ParseOptions())


def test_long_statements_are_cut() -> None:
    found = rights_in(etree.fromstring(f"<meta><license>{'word ' * 500}</license></meta>"))
    assert found.licence is not None
    assert len(found.licence) == 300
