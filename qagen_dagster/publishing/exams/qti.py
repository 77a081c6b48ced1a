"""QTI 2.1: a content package with a file for each item, a test with a section for each schema, and the manifest.

Formulas are MathML. Feedback says which mistake leads to the chosen option. Readers of QTI 2.2 and 3.0 accept 2.1, too.
"""

from __future__ import annotations

import io
import re
import zipfile

from lxml import etree

from qagen_dagster.publishing.markup import Element, plain_mathml, split, xml_text
from qagen_dagster.records.exams.bank import ExamItem, ItemBank

QTI = "http://www.imsglobal.org/xsd/imsqti_v2p1"
PACKAGE = "http://www.imsglobal.org/xsd/imscp_v1p1"
_XSI = "http://www.w3.org/2001/XMLSchema-instance"
_QTI_PLACE = f"{QTI} http://www.imsglobal.org/xsd/qti/qtiv2p1/imsqti_v2p1.xsd"
_PACKAGE_PLACE = f"{PACKAGE} http://www.imsglobal.org/xsd/qti/qtiv2p1/qtiv2p1_imscpv1p2_v1p0.xsd"
_NO_IDENTIFIER = re.compile(r"[^A-Za-z0-9_.-]")
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip file can hold


class Qti:
    name = "qti"

    def export(self, bank: ItemBank) -> dict[str, bytes]:
        files = {"imsmanifest.xml": _manifest(bank), "test.xml": _test(bank)}
        files |= {_file(item): _item(item) for item in bank.items}
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as package:
            for path, data in files.items():
                package.writestr(zipfile.ZipInfo(path, _EPOCH), data, zipfile.ZIP_DEFLATED)
        return {"qti-2.1.zip": buffer.getvalue()}


def _item(item: ExamItem) -> bytes:
    question = item.question
    root = _root("assessmentItem", QTI, _QTI_PLACE)
    root.set("identifier", _identifier(item.id))
    root.set("title", f"Question {item.id.rpartition('-')[2][:8]}")
    root.set("adaptive", "false")
    root.set("timeDependent", "false")
    response = _under(root, "responseDeclaration", identifier="RESPONSE", cardinality="single")
    response.set("baseType", "identifier")
    _under(_under(response, "correctResponse"), "value").text = question.correct_option
    score = _under(root, "outcomeDeclaration", identifier="SCORE", cardinality="single", baseType="float")
    _under(_under(score, "defaultValue"), "value").text = "0"
    _under(root, "outcomeDeclaration", identifier="FEEDBACK", cardinality="single", baseType="identifier")
    body = _under(root, "itemBody")
    _paragraphs(body, question.stem)
    choices = _under(
        body, "choiceInteraction", responseIdentifier="RESPONSE", shuffle="false", maxChoices="1"
    )
    for letter in item.letters:
        _flow(_under(choices, "simpleChoice", identifier=letter), question.options[letter])
    _processing(root)
    for letter in item.letters:
        shown = _under(
            root, "modalFeedback", outcomeIdentifier="FEEDBACK", identifier=letter, showHide="show"
        )
        _paragraphs(shown, item.solution_text if item.is_key(letter) else item.feedback(letter))
    return _bytes(root)


def _processing(root: Element) -> None:
    processing = _under(root, "responseProcessing")
    right = _under(_under(processing, "responseCondition"), "responseIf")
    match = _under(right, "match")
    _under(match, "variable", identifier="RESPONSE")
    _under(match, "correct", identifier="RESPONSE")
    one = _under(_under(right, "setOutcomeValue", identifier="SCORE"), "baseValue", baseType="float")
    one.text = "1"
    chosen = _under(processing, "setOutcomeValue", identifier="FEEDBACK")
    _under(chosen, "variable", identifier="RESPONSE")


def _test(bank: ItemBank) -> bytes:
    root = _root("assessmentTest", QTI, _QTI_PLACE)
    root.set("identifier", _identifier(f"test-{bank.exam}"))
    root.set("title", xml_text(bank.name))
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
    return _bytes(root)


def _manifest(bank: ItemBank) -> bytes:
    root = _root("manifest", PACKAGE, _PACKAGE_PLACE)
    root.set("identifier", _identifier(f"manifest-{bank.exam}"))
    metadata = _under(root, "metadata")
    _under(metadata, "schema").text = "QTIv2.1 Package"
    _under(metadata, "schemaversion").text = "1.0.0"
    _under(root, "organizations")
    resources = _under(root, "resources")
    test = _resource(resources, f"resource-test-{bank.exam}", "imsqti_test_xmlv2p1", "test.xml")
    for item in bank.items:
        _under(test, "dependency", identifierref=_identifier(f"resource-{item.id}"))
        _resource(resources, f"resource-{item.id}", "imsqti_item_xmlv2p1", _file(item))
    return _bytes(root)


def _resource(resources: Element, identifier: str, kind: str, href: str) -> Element:
    found = _under(resources, "resource", identifier=_identifier(identifier), type=kind, href=href)
    _under(found, "file", href=href)
    return found


def _paragraphs(parent: Element, text: str) -> None:
    for part in re.split(r"\n[ \t]*\n", text):
        if part.strip():
            _flow(_under(parent, "p"), part.strip())


def _flow(parent: Element, text: str) -> None:
    """Prose, line breaks and formulas, in order."""
    for segment in split(text):
        if segment.kind == "prose":
            first, *others = xml_text(segment.text).split("\n")
            _append_text(parent, first)
            for line in others:
                _under(parent, "br")
                _append_text(parent, line)
            continue
        formula = plain_mathml(segment.text, display=segment.kind == "display")
        if formula is None:
            _under(parent, "code").text = xml_text(segment.text)
        else:
            parent.append(formula)


def _append_text(parent: Element, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text


def _root(name: str, namespace: str, place: str) -> Element:
    root = etree.fromstring(f'<{name} xmlns="{namespace}" xmlns:xsi="{_XSI}"/>')
    root.set(f"{{{_XSI}}}schemaLocation", place)
    return root


def _under(parent: Element, name: str, **attributes: str) -> Element:
    return etree.SubElement(parent, f"{{{etree.QName(parent).namespace}}}{name}", attributes)


def _bytes(root: Element) -> bytes:
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8")


def _identifier(name: str) -> str:
    """An NCName: what QTI calls an identifier."""
    safe = _NO_IDENTIFIER.sub("_", name)
    return safe if safe[:1].isalpha() or safe[:1] == "_" else f"_{safe}"


def _file(item: ExamItem) -> str:
    return f"items/{item.id}.xml"
