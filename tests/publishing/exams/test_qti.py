"""QTI packages against a grammar of the part we use, and through a converter that is not ours."""

from __future__ import annotations

import io
import re
import zipfile
from html import unescape
from pathlib import Path

import pytest
import qti_convert
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from qagen_dagster.publishing.exams.formats import BANK_EXPORTERS
from qagen_dagster.publishing.exams.qti import PACKAGE, QTI, canvas_package, qti_package
from qagen_dagster.publishing.markup import figure_id
from qagen_dagster.records.exams.bank import ItemBank
from tests.support.exams.items import bank, hard_item, item, question

GRAMMAR = etree.RelaxNG(etree.parse(Path(__file__).with_name("qti21.rng")))


def hyphened(found: re.Match[str]) -> str:
    kind, name = found.groups()
    plain = kind == "attribute" or name in ("p", "br", "code", "img")
    lower = re.sub("([A-Z])", r"-\1", name).lower()
    return f'<{kind} name="{lower if plain else f"qti-{lower}"}"'


def third(grammar: str) -> str:
    """The grammar of the same part of QTI 3.0. Its names are those of the published schema, against which such packages were validated."""
    found = re.sub(r'<(element|attribute) name="(\w+)"(?! ns="http)', hyphened, grammar)
    body = '<zeroOrMore><ref name="p"/></zeroOrMore>'
    found = found.replace(body, f'<element name="qti-content-body">{body}</element>')
    return found.replace(QTI, "http://www.imsglobal.org/xsd/imsqtiasi_v3p0")


GRAMMAR_3 = etree.RelaxNG(etree.fromstring(third(Path(__file__).with_name("qti21.rng").read_text()).encode()))
NAMES = {"q": QTI, "p": PACKAGE}
TEXT = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from("$\\{}<>&\n"), min_size=1, max_size=40
).filter(str.strip)


def opened(of: ItemBank) -> dict[str, etree._Element]:
    data = qti_package(of)["qti-2.1.zip"]
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
    assert qti_package(bank(item(), hard_item())) == qti_package(bank(item(), hard_item()))


FIGURE = "\\begin{tikzpicture}[scale=2]\n\n\\draw (0,0) -- (1,1); % a line\n\\end{tikzpicture}"
PNG = b"\x89PNG drawn"


def with_figure(*, drawn: bool = True) -> ItemBank:
    of = bank(item(question(f"How long is it?\n\n{FIGURE}", "B")), item(), hard_item())
    return of.model_copy(update={"figures": {figure_id(FIGURE): PNG} if drawn else {}})


def unpacked(files: dict[str, bytes]) -> dict[str, bytes]:
    (data,) = files.values()
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        return {name: package.read(name) for name in package.namelist()}


@pytest.mark.parametrize(
    ("form", "src"), [("qti", "../"), ("qti3", "../"), ("canvas", "%24IMS-CC-FILEBASE%24/")]
)
def test_a_package_has_the_pictures_of_figures(form: str, src: str) -> None:
    (export,) = (one.export for one in BANK_EXPORTERS if one.name == form)
    path = f"figures/{figure_id(FIGURE)}.png"
    files = unpacked(export(with_figure()))
    assert files[path] == PNG
    assert f'href="{path}"'.encode() in files["imsmanifest.xml"]
    texts = b"".join(data for name, data in files.items() if name.endswith(".xml")).decode()
    assert f'src="{src}{path}" alt="How long is it?"' in unescape(texts)
    bare = unpacked(export(with_figure(drawn=False)))
    assert path not in bare
    assert "The figure is not drawn." in b"".join(bare.values()).decode()


def test_items_of_qti_3_are_those_that_another_converter_makes() -> None:
    old, new = (unpacked(one.export(with_figure())) for one in BANK_EXPORTERS[:2])
    for name in (one for one in new if one.startswith("items/")):
        other = etree.fromstring(qti_convert.upgrade_qti2_to_qti3(old[name]).encode())
        root = etree.fromstring(new[name])
        assert sorted({str(one.tag) for one in root.iter()}) == sorted({str(one.tag) for one in other.iter()})
        assert GRAMMAR_3.validate(root), GRAMMAR_3.error_log.last_error
    assert GRAMMAR_3.validate(etree.fromstring(new["test.xml"])), GRAMMAR_3.error_log.last_error


def test_canvas_reads_key_feedback_and_html() -> None:
    quiz = etree.fromstring(unpacked(canvas_package(bank(hard_item())))["quiz.xml"])
    names = {"c": "http://www.imsglobal.org/xsd/ims_qtiasiv1p2"}
    assert quiz.xpath("string(//c:fieldentry)", namespaces=names) == "multiple_choice_question"
    assert quiz.xpath("//c:response_label/@ident", namespaces=names) == list("ABCDE")
    assert quiz.xpath("string(//c:respcondition[c:setvar]//c:varequal)", namespaces=names) == "A"
    stem = str(quiz.xpath("string(//c:presentation/c:material/c:mattext)", namespaces=names))
    assert "<math" in stem
    assert QTI not in stem
    etree.fromstring(f"<div>{stem}</div>")
    feedback = quiz.xpath("string(//c:itemfeedback[@ident='B_fb']//c:mattext)", namespaces=names)
    assert str(feedback).startswith("<p>adds B")
