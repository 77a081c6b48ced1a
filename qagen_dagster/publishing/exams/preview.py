"""A bank as one self-contained HTML page without scripts, fonts or network. Browsers display MathML by themselves."""

from __future__ import annotations

from html import escape
from itertools import groupby

from qagen_dagster.publishing.exams.feedback import feedback, is_key, letters, solution
from qagen_dagster.publishing.markup import paragraphs, with_mathml
from qagen_dagster.records.exams.bank import ExamItem, ItemBank, ProofStatus

_STYLE = """\
body{font:16px/1.5 Georgia,serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#222}
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2.5rem;border-bottom:1px solid #ccc}
article{margin:1.5rem 0 2rem;break-inside:avoid}header{font:13px sans-serif;color:#666}
ol{list-style:upper-alpha;padding-left:2rem}li{margin:.25rem 0;padding-left:.3rem}
details{font-size:.93rem;background:#f6f6f4;padding:.4rem .9rem;border-radius:4px}
summary{font:13px sans-serif;cursor:pointer}dt{float:left;font-weight:bold;width:1.5rem}
dd{margin:0 0 .2rem 1.5rem}math{font-size:1.06em}.key{font-weight:bold}code{background:#fee}
nav{font:14px sans-serif}@media print{details>*{display:block}}
"""
_DOT = " \u00b7 "
_PROOFS = {
    ProofStatus.PROVEN: "key proven by computation",
    ProofStatus.REFUTED: "key refuted by computation",
    ProofStatus.UNPROVEN: "key confirmed by the verifier alone",
    ProofStatus.ABSENT: "key confirmed by the verifier alone",
}


class HtmlPreview:
    """One page with collapsed solutions."""

    name = "html"

    def export(self, bank: ItemBank) -> dict[str, bytes]:
        groups = [
            (schema, list(items))
            for schema, items in groupby(bank.items, key=lambda item: (item.schema_id, item.schema_title))
        ]
        links = _DOT.join(
            f'<a href="#{escape(schema[0])}">{escape(schema[0])}</a> ({len(items)})'
            for schema, items in groups
        )
        sections = "".join(
            f'<h2 id="{escape(schema[0])}">{escape(" ".join(schema))}</h2>' + "".join(map(item_html, items))
            for schema, items in groups
        )
        title = escape(bank.name)
        page = (
            f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"/><title>{title}</title>'
            f"<style>{_STYLE}</style></head><body><h1>{title}</h1>"
            f"<p>{len(bank.items)} items</p><nav>{links}</nav>{sections}</body></html>\n"
        )
        return {"preview.html": page.encode()}


def item_html(item: ExamItem) -> str:
    """One item with its collapsed solution, as HTML that is also well-formed XML."""
    attempts = "1 attempt" if item.attempts == 1 else f"{item.attempts} attempts"
    about = _DOT.join((item.id, item.difficulty.value, _PROOFS[item.proof.status], attempts))
    return (
        f'<article id="{escape(item.id)}"><header>{escape(about)}</header>'
        f"{question_html(item)}<details><summary>Solution: {item.question.correct_option}</summary>"
        f"{paragraphs(solution(item), with_mathml)}<dl>{_paths(item)}</dl></details></article>"
    )


def question_html(item: ExamItem) -> str:
    """The stem and options as a candidate sees them, as HTML that is also well-formed XML."""
    options = "".join(f"<li>{with_mathml(item.question.options[letter])}</li>" for letter in letters(item))
    return f"{paragraphs(item.question.stem, with_mathml)}<ol>{options}</ol>"


def _paths(item: ExamItem) -> str:
    return "".join(
        f"<dt>{letter}</dt><dd>{with_mathml(feedback(item, letter))}</dd>"
        for letter in letters(item)
        if not is_key(item, letter)
    )
