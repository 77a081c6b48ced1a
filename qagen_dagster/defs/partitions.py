"""The partitions, which are read from the corpora folder, and their mappings: corpora to combinations, exams to their parts."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import dagster as dg

from qagen_dagster.configuration.corpora import Corpora
from qagen_dagster.configuration.exams import Exam, load_exams
from qagen_dagster.configuration.problems import load_problem_sets
from qagen_dagster.loop.workspace import Workspace
from qagen_dagster.records.exams.submissions import ExamPart


@dataclass(frozen=True)
class Partitions:
    """`corpora` has one key per corpus, `combinations` one key per corpus/scenario/mode.

    `fan_out` maps a corpus to its combinations. Without this mapping, Dagster would look for a combination with the key of the corpus.
    """

    corpora: dg.StaticPartitionsDefinition
    combinations: dg.StaticPartitionsDefinition
    fan_out: dg.StaticPartitionMapping = field(compare=False)  # follows from the keys


def build_partitions(corpora: Corpora) -> Partitions:
    by_corpus = {key: {c.key for c in corpus.combinations()} for key, corpus in corpora.corpora.items()}
    keys = [c.key for corpus in corpora.corpora.values() for c in corpus.combinations()]
    return Partitions(
        corpora=dg.StaticPartitionsDefinition(list(corpora.corpora)),
        combinations=dg.StaticPartitionsDefinition(keys),
        fan_out=dg.StaticPartitionMapping(by_corpus),
    )


def missing_partitions(space: Workspace, known: Mapping[str, dg.StaticPartitionsDefinition]) -> list[str]:
    """A line such as "corpus NAME" for each partition that the loaded definitions lack. A missing corpus stands for its combinations."""
    corpora = space.corpora.corpora
    folder, optional = space.settings.corpora, space.settings.optional
    now = {
        "corpus": list(corpora),
        "combination": [one.key for corpus in corpora.values() for one in corpus.combinations()],
        "part": [part.key for part in exam_parts(load_exams(folder).found)] if "exams" in optional else [],
        "set": list(load_problem_sets(folder).found) if "problems" in optional else [],
    }
    loaded = {kind: set(partitions.get_partition_keys()) for kind, partitions in known.items()}
    return [
        f"{kind} {key}"
        for kind, keys in now.items()
        for key in keys
        if key not in loaded[kind] and (kind != "combination" or key.split("/")[0] in loaded["corpus"])
    ]


@dataclass(frozen=True)
class ExamPartitions:
    """`exams` has one key per exam, `parts` one key per exam/schema/difficulty.

    `fan_out` maps an exam to its parts, `fan_in` a part to its exam. Without these mappings, Dagster would look for equal keys.
    """

    exams: dg.StaticPartitionsDefinition
    parts: dg.StaticPartitionsDefinition
    fan_out: dg.StaticPartitionMapping = field(compare=False)  # follows from the keys
    fan_in: dg.StaticPartitionMapping = field(compare=False)


def exam_parts(exams: Mapping[str, Exam]) -> list[ExamPart]:
    return [part for exam in exams.values() for part in exam.parts()]


def build_exam_partitions(exams: Mapping[str, Exam]) -> ExamPartitions:
    by_exam = {key: {part.key for part in exam.parts()} for key, exam in exams.items()}
    return ExamPartitions(
        exams=dg.StaticPartitionsDefinition(list(exams)),
        parts=dg.StaticPartitionsDefinition([part.key for part in exam_parts(exams)]),
        fan_out=dg.StaticPartitionMapping(by_exam),
        fan_in=dg.StaticPartitionMapping({part.key: part.exam for part in exam_parts(exams)}),
    )
