from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from lxml import etree, html

from qagen_dagster.publishing.exams.pages import HtmlPreview, item_html
from tests.support.exams.items import bank, hard_item, item, question

TEXT = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("$\\{}<>&\n"), min_size=1, max_size=40
).filter(str.strip)


def test_the_page_stands_alone() -> None:
    page = HtmlPreview().export(bank(item(), hard_item()))["preview.html"].decode()
    assert not re.search(r"<script|<link|<img|src=|url\(|@import", page)
    root = html.fromstring(page)
    assert len(root.xpath("//article")) == 2
    assert len(root.xpath("//article[2]//ol/li")) == 5
    assert root.xpath("//article[2]//math")
    assert [code.text for code in root.xpath("//article[2]//code")] == ["\\unknowncommand{1}"]
    assert "2 items" in page


@given(TEXT)
def test_an_item_is_well_formed_whatever_it_says(text: str) -> None:
    root = etree.fromstring(item_html(item(question(text, "A", A=text, B="1", C="2", D="3"))))
    assert root.get("id", "").startswith("M1-easy-")
    names = {etree.QName(element).localname for element in root.iter()}
    assert "script" not in names
