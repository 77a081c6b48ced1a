"""Writes banks of exam items as QTI 2.1, as QTI 3.0, and as QTI 1.2 for Canvas. Stylesheets make QTI 3.0 and QTI 1.2 from QTI 2.1.

A content package has a file for each item, a test with a section for each schema, the pictures of figures, and the manifest. For Canvas,
one file has all items. Formulas are MathML. Feedback on an option is the mistake that leads to it, or the solution.
"""

import io
import re
import zipfile
from html import escape
from pathlib import Path

from lxml import etree

from qagen_dagster.publishing import markup
from qagen_dagster.records.exams.bank import ExamItem, ItemBank

QTI = "http://www.imsglobal.org/xsd/imsqti_v2p1"
PACKAGE = "http://www.imsglobal.org/xsd/imscp_v1p1"
_XSI = "http://www.w3.org/2001/XMLSchema-instance"
_QTI_PLACE = f"{QTI} http://www.imsglobal.org/xsd/qti/qtiv2p1/imsqti_v2p1.xsd"
_PACKAGE_PLACE = f"{PACKAGE} http://www.imsglobal.org/xsd/qti/qtiv2p1/qtiv2p1_imscpv1p2_v1p0.xsd"
_ITEM = Path(__file__).with_name("qti_item_template.xml").read_bytes()
_NO_IDENTIFIER = re.compile(r"[^A-Za-z0-9_.-]")
_CANVAS_FILES = "%24IMS-CC-FILEBASE%24/"
_XSI_HERE = f' xmlns:xsi="{_XSI}"'
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip file can hold


_RENEWED = {  # texts of the manifest, and the texts that replace them in QTI 3.0
    PACKAGE: "http://www.imsglobal.org/xsd/qti/qtiv3p0/imscp_v1p1",
    "http://www.imsglobal.org/xsd/qti/qtiv2p1/qtiv2p1_imscpv1p2_v1p0.xsd": "https://purl.imsglobal.org/spec/qti/v3p0/schema/xsd/imsqtiv3p0_imscpv1p2_v1p0.xsd",
    "QTIv2.1 Package": "QTI Package",
    "<schemaversion>1.0.0": "<schemaversion>3.0.0",
    "_xmlv2p1": "_xmlv3p0",
}  # fmt: skip


def qti_package(bank: ItemBank, *, version_3: bool = False) -> dict[str, bytes]:
    """A content package of version 2.1. With `version_3`, a stylesheet converts the test and the items to version 3.0."""
    roots = {"test.xml": _test(bank)} | {_file(item): _item(item, bank.figures) for item in bank.items}
    manifest = _bytes(_manifest(bank)).decode()
    renew = _stylesheet("qti3.xsl") if version_3 else None
    for old, new in _RENEWED.items() if version_3 else ():
        manifest = manifest.replace(old, new)
    files = {path: _bytes(root if renew is None else renew(root)) for path, root in roots.items()}
    name = "qti-3.0.zip" if version_3 else "qti-2.1.zip"
    return {name: _package(bank, {"imsmanifest.xml": manifest.encode()} | files)}


def canvas_package(bank: ItemBank) -> dict[str, bytes]:
    """A package of QTI 1.2 for Canvas, with the HTML of the questions as escaped text."""
    whole = etree.Element("bank", identifier=_identifier(bank.exam), title=markup.xml_text(bank.name))
    whole.extend([_item(item, bank.figures, _CANVAS_FILES) for item in bank.items])
    quiz = _stylesheet("canvas.xsl")(whole).getroot()
    for text in quiz.iter("{*}mattext"):
        inside = "".join(etree.tostring(one, encoding="unicode") for one in text)
        html = (escape(text.text or "") + inside).replace(f' xmlns="{QTI}"', "").replace(_XSI_HERE, "")
        for child in list(text):
            text.remove(child)
        text.text = html
    manifest = _root("manifest", PACKAGE, _PACKAGE_PLACE, f"manifest-{bank.exam}")
    resources = _under(manifest, "resources")
    _resource(resources, "quiz", "imsqti_xmlv1p2", "quiz.xml")
    for path in _pictures(bank):
        _resource(resources, path, "webcontent", path)
    return {"canvas.zip": _package(bank, {"imsmanifest.xml": _bytes(manifest), "quiz.xml": _bytes(quiz)})}


def _package(bank: ItemBank, files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as package:
        for path, data in (files | _pictures(bank)).items():
            package.writestr(zipfile.ZipInfo(path, _EPOCH), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _pictures(bank: ItemBank) -> dict[str, bytes]:
    """The pictures of the bank's figures by their paths in the package."""
    return {_picture(name, data): data for name, data in sorted(bank.figures.items())}


def _picture(name: str, data: bytes) -> str:
    return f"figures/{name}.{markup.figure_type(data).rpartition('/')[2]}"


def _stylesheet(name: str) -> etree.XSLT:
    return etree.XSLT(etree.parse(Path(__file__).with_name(name)))


def _item(item: ExamItem, figures: markup.Figures, folder: str = "../") -> markup.Element:
    """An item whose pictures are in `folder`. If a figure is not drawn, words replace it."""
    question = item.question
    root = etree.fromstring(_ITEM)
    root.set("identifier", _identifier(item.id))
    root.set("title", f"Question {item.id.rpartition('-')[2][:8]}")
    key, processing = next(root.iter("{*}value")), root[-1]
    key.text = question.correct_option
    root.remove(processing)
    body = _under(root, "itemBody")
    _paragraphs(body, question.stem)
    choices = _under(
        body, "choiceInteraction", responseIdentifier="RESPONSE", shuffle="false", maxChoices="1"
    )
    for letter in item.letters:
        _flow(_under(choices, "simpleChoice", identifier=letter), question.options[letter])
    root.append(processing)
    for letter in item.letters:
        shown = _under(
            root, "modalFeedback", outcomeIdentifier="FEEDBACK", identifier=letter, showHide="show"
        )
        _paragraphs(shown, item.solution_text if item.is_key(letter) else item.feedback(letter))
    for image in root.iter(f"{{{QTI}}}img"):
        name = image.get("src", "")
        if name in figures:
            image.set("src", folder + _picture(name, figures[name]))
        else:
            image.attrib.clear()
            image.tag, image.text = f"{{{QTI}}}code", "The figure is not drawn."
    return root


def _test(bank: ItemBank) -> markup.Element:
    root = _root("assessmentTest", QTI, _QTI_PLACE, f"test-{bank.exam}")
    root.set("title", markup.xml_text(bank.name))
    total = _under(root, "outcomeDeclaration", identifier="SCORE", cardinality="single", baseType="float")
    _under(_under(total, "defaultValue"), "value").text = "0"
    part = _under(root, "testPart", identifier="part", navigationMode="nonlinear")
    part.set("submissionMode", "simultaneous")
    for number, (_, items) in enumerate(bank.sections(), 1):
        section = _under(part, "assessmentSection", identifier=f"section-{number}")
        section.set("title", f"Section {number}")
        section.set("visible", "true")
        for item in items:
            _under(section, "assessmentItemRef", identifier=_identifier(item.id), href=_file(item))
    sums = _under(_under(root, "outcomeProcessing"), "setOutcomeValue", identifier="SCORE")
    _under(_under(sums, "sum"), "testVariables", variableIdentifier="SCORE")
    return root


def _manifest(bank: ItemBank) -> markup.Element:
    root = _root("manifest", PACKAGE, _PACKAGE_PLACE, f"manifest-{bank.exam}")
    metadata = _under(root, "metadata")
    _under(metadata, "schema").text = "QTIv2.1 Package"
    _under(metadata, "schemaversion").text = "1.0.0"
    _under(root, "organizations")
    resources = _under(root, "resources")
    test = _resource(resources, f"resource-test-{bank.exam}", "imsqti_test_xmlv2p1", "test.xml")
    for item in bank.items:
        _under(test, "dependency", identifierref=_identifier(f"resource-{item.id}"))
        found = _resource(resources, f"resource-{item.id}", "imsqti_item_xmlv2p1", _file(item))
        for name in map(
            markup.figure_id, markup.figures_of(item.question.stem, *item.question.options.values())
        ):
            if name in bank.figures:
                _under(found, "file", href=_picture(name, bank.figures[name]))
    return root


def _resource(resources: markup.Element, identifier: str, kind: str, href: str) -> markup.Element:
    found = _under(resources, "resource", identifier=_identifier(identifier), type=kind, href=href)
    _under(found, "file", href=href)
    return found


def _paragraphs(parent: markup.Element, text: str) -> None:
    for part in re.split(r"\n[ \t]*\n", markup.tight(text)):
        if part.strip():
            _flow(_under(parent, "p"), part.strip(), markup.figure_alt(text))


def _flow(parent: markup.Element, text: str, alt: str = "figure") -> None:
    """Add the prose, line breaks, formulas and figures of a text to `parent`, in order."""
    for segment in markup.split(text):
        if segment.kind == "prose":
            first, *others = markup.xml_text(segment.text).split("\n")
            _append_text(parent, first)
            for line in others:
                _under(parent, "br")
                _append_text(parent, line)
            continue
        if segment.kind == "figure":
            _under(parent, "img", src=markup.figure_id(segment.text), alt=alt)
            continue
        formula = markup.plain_mathml(segment.text, display=segment.kind == "display")
        if formula is None:
            _under(parent, "code").text = markup.xml_text(segment.text)
        else:
            parent.append(formula)


def _append_text(parent: markup.Element, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text


def _root(name: str, namespace: str, place: str, identifier: str) -> markup.Element:
    root = etree.fromstring(f'<{name} xmlns="{namespace}" xmlns:xsi="{_XSI}"/>')
    root.set(f"{{{_XSI}}}schemaLocation", place)
    root.set("identifier", _identifier(identifier))
    return root


def _under(parent: markup.Element, name: str, **attributes: str) -> markup.Element:
    return etree.SubElement(parent, f"{{{etree.QName(parent).namespace}}}{name}", attributes)


def _bytes(root: markup.Element | etree._XSLTResultTree) -> bytes:  # pyright: ignore[reportPrivateUsage]
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8")


def _identifier(name: str) -> str:
    """The name as an identifier of QTI (an NCName). Characters that an identifier must not have become `_`."""
    safe = _NO_IDENTIFIER.sub("_", name)
    return safe if safe[:1].isalpha() or safe[:1] == "_" else f"_{safe}"


def _file(item: ExamItem) -> str:
    return f"items/{item.id}.xml"
