"""The presentation of assets in the UI: jobs, owner, tags and links to the documentation. The groups are in the table of products."""

from collections.abc import Collection

import dagster as dg

from qagen_dagster.defs.layout import Layout
from qagen_dagster.defs.metadata import path
from qagen_dagster.loop.product_table import ROWS, TABLE, Product
from qagen_dagster.settings import DOCS

OWNER = "team:qagen"
MODELS = "models"  # the kind of an asset that asks models of the profile
ICONS = frozenset({"openai", "anthropic"})  # providers that are shown as kinds of assets
MOST_KINDS = 3  # maximum number of kinds of one asset in Dagster
PUBLISHED = "published"  # the kind of an asset that other programs read: the result of its product
PAGES = {asset: row.page for row in ROWS for asset in row.assets} | {
    "corpus_json": "contracts.md",
    "review_decisions": "review.md",
    "exam_schemas": "exams.md",
}
_JOBS: dict[str, tuple[str, tuple[Product, ...]]] = {
    "parse_corpus": (
        "Parse the documents of a corpus and find their tables and figures.",
        (Product.DOCUMENTS,),
    ),
    "index_corpus": (
        "Build the search index of a corpus, or update it where documents changed.",
        (Product.INDEX,),
    ),
    "question_set": (
        "Generate, validate, publish and grade the questions of a combination.",
        (Product.QUESTIONS,),
    ),
    "evaluation": (
        "Evaluate a published set: answers without documents, search, answers from documents.",
        (Product.CLOSED_BOOK, Product.RETRIEVAL, Product.ANSWERS),
    ),
    "exam_part": (
        "Make the items of one part of an exam: an exam, a schema and a difficulty.",
        (Product.EXAM_PART,),
    ),
    "exam_bank": ("Collect the items of an exam into its bank and export the bank.", (Product.ITEM_BANK,)),
    "problem_set": ("Run a problem set through all stages and export its bank.", (Product.PROBLEMS,)),
}
JOBS = {  # the assets and the description of each job
    name: (tuple(asset for product in products for asset in TABLE[product].assets), text)
    for name, (text, products) in _JOBS.items()
}


def members(layout: Layout, job: str) -> tuple[str, ...]:
    """The assets of a job that the graph has."""
    return tuple(asset for asset in JOBS[job][0] if layout.has(asset))


def presented(spec: dg.AssetSpec, providers: Collection[str] = (), docs: str | None = None) -> dg.AssetSpec:
    """The spec with an owner, a tag that says whether the asset can cost money, and a link to the asset's page of the documentation.

    `providers` are the providers of the models. `docs` is the address of the folder of pages; None if the pages are local files.
    """
    page = PAGES[spec.key.path[-1]]
    link = dg.MetadataValue.url(f"{docs}/{page}") if docs else path(str(DOCS / page))
    text = f"{spec.description}\n\nSee {f'[docs/{page}]({docs}/{page})' if docs else f'docs/{page}'}."
    models = sorted(set(providers) & ICONS)[: MOST_KINDS - len(spec.kinds)] if MODELS in spec.kinds else []
    described = spec.replace_attributes(description=text, kinds={*spec.kinds, *models})  # pyright: ignore[reportUnknownMemberType]
    return described.merge_attributes(
        owners=[OWNER], tags={"cost": "models" if MODELS in spec.kinds else "free"}, metadata={"docs": link}
    )
