"""QTI packages against a grammar of the part we use, and through a converter that is not ours."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import qti_convert
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from qagen_dagster.publishing.exams.qti import PACKAGE, QTI, Qti
from qagen_dagster.records.exams.bank import ItemBank
from tests.support.exams.items import bank, hard_item, item, question

GRAMMAR = etree.RelaxNG(etree.parse(Path(__file__).with_name("qti21.rng")))
NAMES = {"q": QTI, "p": PACKAGE}
TEXT = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("$\\{}<>&\n"), min_size=1, max_size=40
).filter(str.strip)


def opened(of: ItemBank) -> dict[str, etree._Element]:
    data = Qti().export(of)["qti-2.1.zip"]
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        assert package.testzip() is None
        return {name: etree.fromstring(package.read(name)) for name in package.namelist()}


def test_items_and_test_keep_the_grammar() -> None:
    files = opened(bank(item(), hard_item()))
    manifest = files.pop("imsmanifest.xml")
    assert len(files) == 3
    for name, root in files.items():
        assert GRAMMAR.validate(root), f"{name}: {GRAMMAR.error_log.last_error}"
    hrefs = {str(href) for href in manifest.xpath("//p:file/@href", namespaces=NAMES)}
    assert hrefs == set(files)
    named = {str(one) for one in manifest.xpath("//p:dependency/@identifierref", namespaces=NAMES)}
    assert len(named) == 2
    assert named < {str(one) for one in manifest.xpath("//p:resource/@identifier", namespaces=NAMES)}


@given(TEXT, TEXT)
def test_any_text_keeps_the_grammar(stem: str, option: str) -> None:
    of = item(question(stem, "A", A=option, B="$1$", C="2", D="3"))
    files = opened(bank(of))
    root = files[f"items/{of.id}.xml"]
    assert GRAMMAR.validate(root), GRAMMAR.error_log.last_error


def test_the_key_and_each_mistake_are_told() -> None:
    hard = hard_item()
    root = opened(bank(hard))[f"items/{hard.id}.xml"]
    assert root.xpath("string(//q:correctResponse/q:value)", namespaces=NAMES) == "A"
    assert root.xpath("//q:simpleChoice/@identifier", namespaces=NAMES) == list("ABCDE")
    feedback = root.xpath("string(//q:modalFeedback[@identifier='B'])", namespaces=NAMES)
    assert str(feedback).startswith("adds B")
    assert "\\unknowncommand{1}" in "".join(map(str, root.itertext()))


def test_another_reader_takes_it_to_qti_3_and_back(tmp_path: Path) -> None:
    hard = hard_item()
    original = opened(bank(hard))[f"items/{hard.id}.xml"]
    upgraded = qti_convert.upgrade_qti2_to_qti3(etree.tostring(original))
    returned = qti_convert.convert_qti3_to_qti21(upgraded)
    assert list(returned.warnings) == []
    root = etree.fromstring(returned.xml.encode())
    assert GRAMMAR.validate(root), GRAMMAR.error_log.last_error
    for path in ("//q:correctResponse/q:value", "//q:itemBody", "//q:modalFeedback[@identifier='C']"):
        texts = [tree.xpath(f"string({path})", namespaces=NAMES) for tree in (original, root)]
        assert "".join(str(texts[0]).split()) == "".join(str(texts[1]).split())


def test_the_same_bank_gives_the_same_bytes() -> None:
    assert Qti().export(bank(item(), hard_item())) == Qti().export(bank(item(), hard_item()))
