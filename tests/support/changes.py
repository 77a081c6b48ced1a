"""A project with every kind of product, and changes to it: which partitions turn stale, and what is launched, tick by tick."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tests.support import waterworks
from tests.support.exams.mini import write_exam
from tests.support.graph import GraphRun
from tests.support.project import Project

STATIONS = ("ridge", "quay", "mill", "weir", "lock", "dam")
WATER, RAIL = "water/facts/textual", "rail/facts/textual"
PART = "mini/M1/easy"  # the part that the only item of the exam belongs to
EVALUATIONS = ("closed_book_check", "retrieval_baseline", "answer_baseline")
PARTITIONS = {
    "parsed_documents": ("rail", "water"),
    "document_index": ("water",),
    **dict.fromkeys(("candidate_qa", "grounding_report"), (RAIL, WATER)),
    **dict.fromkeys(EVALUATIONS, (WATER,)),
    **dict.fromkeys(("idea_plans", "exam_items"), (PART,)),
}
CORPUS = """\
name: {name}
corpus_context: Notes on the stations of an invented {name}.
scenarios:
  facts: {{name: Facts, description: Single facts., target_count: 1, modes: [textual], profile: {profile}}}
"""
PROFILE = """\
roles:
  generator: {provider: scripted, model: cloze}
  validator: {provider: scripted, model: cloze-check}
  deduplicator: {provider: scripted, model: cloze-compare}
  answerer: {provider: scripted, model: cloze}
  judge: {provider: scripted, model: cloze-compare}
"""
QUIZ = (
    PROFILE
    + """\
  designer: {provider: embedded, model: exam-designer}
  implementer: {provider: embedded, model: exam-implementer}
  verifier: {provider: embedded, model: exam-verifier}
  style_judge: {provider: embedded, model: exam-style-judge}
"""
)
EXAM = """\
name: Mini
candidate_profile: Somebody who can add.
difficulties: {easy: 1, hard: 1}
items: 1
profile: quiz
"""


@dataclass(frozen=True)
class Change:
    """An edit of the project; `launched` are the tasks of each tick, without that of the catalog, which is the last."""

    name: str
    make: Callable[[Project], None]
    stale: tuple[str, ...]
    launched: tuple[tuple[str, ...], ...]


def _edit(file: str, before: str, after: str, project: Project) -> None:
    path = project.root / file
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


def _role(profile: str, before: str, after: str) -> Callable[[Project], None]:
    return partial(_edit, f"profiles/{profile}.yaml", before + "}", after + "}")


def _write(project: Project) -> None:
    notes = waterworks.notes("quay", ["bypass", "drain"])
    (project.corpora / "water/documents/quay.txt").write_text(notes)


def _remove(project: Project) -> None:
    (project.corpora / "water/documents/ridge.txt").unlink()


def add_port(project: Project) -> None:
    """A new corpus."""
    documents = {"quay.txt": waterworks.notes("quay")}
    project.corpus("port", CORPUS.format(name="port", profile="other"), documents)


_JUDGED = (f"closed_book_check {WATER}", f"answer_baseline {WATER}")
_ASKED = (f"answers {WATER}", f"closed_book {WATER}")
BEFORE_THE_SENSORS = Change(
    "a validator, before the sensors were on",
    _role("other", "validator: {provider: scripted, model: cloze-check", "validator: {provider: scripted, model: cloze-compare"),
    (f"candidate_qa {RAIL}",),
    ((f"questions {RAIL}",),),
)  # fmt: skip
MODELS = (
    Change(
        "validator",
        _role("main", "model: cloze-check", "model: cloze-check, max_output_tokens: 4000"),
        (f"candidate_qa {WATER}",),
        ((f"questions {WATER}",),),
    ),
    Change(
        "judge",
        _role("main", "judge: {provider: scripted, model: cloze-compare", "judge: {provider: scripted, model: cloze-check"),
        (f"grounding_report {WATER}", *_JUDGED),
        ((*_ASKED, f"grading {WATER}"),),
    ),
    Change(
        "answerer",
        _role("main", "answerer: {provider: scripted, model: cloze", "answerer: {provider: scripted, model: cloze, max_output_tokens: 4000"),
        _JUDGED,
        (_ASKED,),
    ),
    Change(
        "embedder",
        partial(_edit, "profiles/main.yaml", "roles:", "embedder: {passage_prefix: 'passage: '}\nroles:"),
        ("document_index water", f"retrieval_baseline {WATER}", f"answer_baseline {WATER}"),
        (("index water",), (f"answers {WATER}", f"retrieval {WATER}")),
    ),
    Change(
        "a role of an exam",
        _role("quiz", "model: exam-designer", "model: exam-designer, max_output_tokens: 4000"),
        (f"idea_plans {PART}", f"exam_items {PART}"),
        ((f"exam_part {PART}",), ("item_bank mini",)),
    ),
)  # fmt: skip
DOCUMENT_CHANGED = Change(
    "one document of six",
    _write,
    ("parsed_documents water",),
    (
        ("documents water",),
        ("index water", f"questions {WATER}"),
        (f"answers {WATER}", f"closed_book {WATER}", f"retrieval {WATER}"),
    ),
)
DOCUMENT_REMOVED = replace(DOCUMENT_CHANGED, name="a document that is removed", make=_remove)


def edit_prompt(folder: Path) -> None:
    """Other words for the judge, as after an update of the package."""
    file = folder / "grading" / "judge.md"
    file.write_text(file.read_text() + "\nTake your time.\n")


PROMPT = Change(
    "a prompt file",
    lambda _: None,
    (f"grounding_report {RAIL}", f"grounding_report {WATER}", f"answer_baseline {WATER}"),
    ((f"answers {WATER}", f"grading {RAIL}", f"grading {WATER}"),),
)


def make_project(root: Path) -> Project:
    """The corpora, the profiles and the exam."""
    project = Project.make(root)
    documents = {f"{name}.txt": waterworks.notes(name, ["intake", "outlet"]) for name in STATIONS}
    project.corpus("water", CORPUS.format(name="waterworks", profile="main"), documents)
    project.corpus(
        "rail", CORPUS.format(name="railway", profile="other"), {"halt.txt": waterworks.notes("halt")}
    )
    write_exam(project.corpora, yaml=EXAM)
    for name, text in (("main", PROFILE), ("other", PROFILE), ("quiz", QUIZ)):
        project.profile(name, text)
    return project


def make_products(graph: GraphRun) -> None:
    """Everything once, before any sensor is on."""
    graph.settle()
    assert graph.materialize("water", "document_index").success
    assert graph.materialize(WATER, *EVALUATIONS).success
    assert graph.materialize(PART, "idea_plans", "exam_items").success
    assert graph.materialize("mini", "item_bank").success
    assert graph.settle() == [["catalog"]]
