"""Partitions of exams, read from the corpora folder, and how an exam maps to its parts and back."""

from __future__ import annotations

from dataclasses import dataclass

import dagster as dg

from qagen_dagster.configuration.exams import Exams


@dataclass(frozen=True)
class ExamPartitions:
    """`exams` has one key per exam, `parts` one per exam/schema/difficulty.

    Both mappings are explicit because Dagster would otherwise infer an identity and map an exam to nothing.
    """

    exams: dg.StaticPartitionsDefinition
    parts: dg.StaticPartitionsDefinition
    fan_out: dg.StaticPartitionMapping
    fan_in: dg.StaticPartitionMapping


def build_exam_partitions(exams: Exams) -> ExamPartitions:
    """Partitions of all readable exams."""
    by_exam = {key: {part.key for part in exam.parts()} for key, exam in exams.exams.items()}
    return ExamPartitions(
        exams=dg.StaticPartitionsDefinition(list(exams.exams)),
        parts=dg.StaticPartitionsDefinition([part.key for part in exams.parts()]),
        fan_out=dg.StaticPartitionMapping(by_exam),
        fan_in=dg.StaticPartitionMapping({part.key: part.exam for part in exams.parts()}),
    )
