"""The licence and the attribution of documents and of questions about them."""

from __future__ import annotations

from pathlib import Path

import pytest

from qagen_dagster.loop.questions.publication.publish import joint_rights, rights_of
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.document import CorpusIndex, IndexEntry, Outcome, Rights
from tests.formats.test_rights import XLINK
from tests.support.project import Project

CONFIG = """\
name: Papers
corpus_context: Papers.
{given}
scenarios:
  facts: {{name: Facts, description: Facts., modes: [textual]}}
"""
ARTICLE = f"""<article {XLINK}><front><article-meta><permissions><copyright-statement>© Vos</copyright-statement>
<license xlink:href="https://creativecommons.org/licenses/by/4.0/"/></permissions></article-meta></front><body><p>T.</p></body></article>"""
FILES = {"a.xml": ARTICLE, "notes/b.txt": "Text.", "notes/c.txt": "Text.", "broken.xml": "<article"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", {"a.xml": "CC-BY-4.0"}),
        (
            "licence: MIT",
            {"a.xml": "CC-BY-4.0", "notes/b.txt": "MIT", "notes/c.txt": "MIT", "broken.xml": "MIT"},
        ),
        (
            "licence: {'notes/*': OGL-UK-3.0, a.xml: own, '*': MIT}",
            {"a.xml": "own", "notes/b.txt": "OGL-UK-3.0", "notes/c.txt": "OGL-UK-3.0", "broken.xml": "MIT"},
        ),
    ],
)
def test_a_pattern_overrules_the_file_and_the_file_what_is_for_all(
    tmp_path: Path, given: str, expected: dict[str, str]
) -> None:
    project = Project.make(tmp_path)
    project.corpus("papers", CONFIG.format(given=f"{given}\nattribution: {{a.xml: Vos and others}}"), FILES)
    space = Workspace(project.settings(profile="embedded"))
    entries = tuple(
        IndexEntry(id=name, source=name, format="", outcome=Outcome.PARSED, source_sha256="0" * 64)
        for name in FILES
    )
    space.store.write(CorpusIndex.key("papers"), CorpusIndex(corpus="papers", documents=entries))
    found = rights_of(space, "papers", FILES)
    assert {name: one.licence for name, one in found.items() if one.licence} == expected
    assert found["a.xml"].attribution == "Vos and others"
    assert found["notes/b.txt"].attribution is None
    assert rights_of(space, "papers", ["gone.txt", "a.xml"]) == {
        "gone.txt": Rights(),
        "a.xml": found["a.xml"],
    }
    assert rights_of(space, "papers", []) == {}
    file = project.corpora / "papers" / "corpus.yaml"
    file.write_text(f"{file.read_text()}documents: {{passwords: {{'*': NOT_SET_HERE}}}}\n")
    assert rights_of(space, "papers", ["a.xml"])["a.xml"] == found["a.xml"]  # without passwords, too


def test_a_question_about_several_documents_has_a_licence_if_all_have_one() -> None:
    one, two, none = (
        Rights(licence="MIT", attribution="Ida"),
        Rights(licence="CC0-1.0"),
        Rights(attribution="Bo"),
    )
    assert joint_rights([one]) == one
    assert joint_rights([one, two, one]) == Rights(licence="MIT; CC0-1.0", attribution="Ida")
    assert joint_rights([one, none]) == Rights(attribution="Ida; Bo")
