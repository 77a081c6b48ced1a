"""The settings of a `problems.yaml`: the sources of a problem set, and the tasks for its problems."""

from pathlib import PurePosixPath
from typing import Annotated

from pydantic import Field, model_validator

from qagen_dagster.records.base import Inside, Record
from qagen_dagster.records.ids import Name
from qagen_dagster.records.problems.submissions import Format, QuestionKind, VariantKind

MOST_VARIANTS = 20  # maximum number of variants of one kind of a problem, and of its alternate solutions
IMAGES = (".png", ".jpg", ".jpeg", ".webp")
SUFFIXES = (*IMAGES, ".pdf", ".tex")


_Range = Annotated[
    tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]],
    Field(description="First and last, both included, from 1."),
]


class SourceConfig(Record):
    """One file under `sources/`. A problem is an image, a page of a PDF, or an item of a TeX file."""

    file: Inside
    pages: _Range | None = None
    range: _Range | None = None
    kind: QuestionKind | None = None  # None: the classifier finds out the kind

    @model_validator(mode="after")
    def _check(self) -> "SourceConfig":
        suffix = PurePosixPath(self.file).suffix.lower()
        if suffix not in SUFFIXES:
            raise ValueError(f"{self.file} is none of {', '.join(SUFFIXES)}")
        if self.pages is not None and suffix != ".pdf":
            raise ValueError("only a PDF has pages")
        if self.range is not None and suffix != ".tex":
            raise ValueError("only a TeX file has a range of items")
        for name, span in (("pages", self.pages), ("range", self.range)):
            if span is not None and span[0] > span[1]:
                raise ValueError(f"{name} must begin before it ends: [{span[0]}, {span[1]}]")
        return self


class ProblemSetConfig(Record):
    """The settings of a problem set.

    Attributes:
        variants: the kinds of variants that are made of every problem. `multi` is not allowed here: use `combine`.
        variants_each: the number of variants of each kind.
        conversions: the formats to which every problem is converted.
        combine: groups of problem ids. Each group becomes one new problem.
        target_style: the style of these new problems, in words.
        references: folders with TikZ references, relative to the folder of the set.
        solve: the share of the items that the solver solves, if the profile binds a solver.
        prompts: a folder with prompts that replace shipped ones, relative to the folder of the set.
        seed: the random seed; another seed gives other responses of the models.
    """

    name: str = Field(min_length=1)
    description: str = ""
    profile: Name | None = None
    sources: tuple[SourceConfig, ...] = Field(min_length=1)
    alternates: int = Field(default=0, ge=0, le=MOST_VARIANTS)
    variants: tuple[VariantKind, ...] = ()
    variants_each: int = Field(default=1, ge=1, le=MOST_VARIANTS)
    conversions: tuple[Format, ...] = ()
    combine: tuple[Annotated[tuple[Name, ...], Field(min_length=2, max_length=8)], ...] = ()
    target_style: str = ""
    references: tuple[Inside, ...] = ()
    prompts: Inside | None = None
    solve: float = Field(default=1, ge=0, le=1)
    seed: int = Field(default=0, ge=0, le=1_000_000)

    @model_validator(mode="after")
    def _check(self) -> "ProblemSetConfig":
        if VariantKind.MULTI in self.variants:
            raise ValueError("multi is not a variant of one problem: name the problems under combine")
        for name, values in (("variants", self.variants), ("conversions", self.conversions)):
            if len(set(values)) != len(values):
                raise ValueError(f"{name} holds something twice")
        files = [(source.file, source.pages, source.range) for source in self.sources]
        if len(set(files)) != len(files):
            raise ValueError("sources holds something twice")
        return self
