"""BEIR: GenericDataLoader. Judgements must name passages and questions that exist."""

from importlib.metadata import version
from pathlib import Path

from beir.datasets.data_loader import GenericDataLoader
from report import folders, lines, tell

judgements = 0


def load(folder: Path) -> list[list[str]]:
    global judgements
    if not lines(folder / "queries.jsonl"):
        return []
    corpus, queries, qrels = GenericDataLoader(str(folder)).load(split="test")
    assert set(qrels) == set(queries)
    named = {passage for passages in qrels.values() for passage in passages}
    assert named <= set(corpus), named - set(corpus)
    assert all(corpus[passage]["text"] for passage in named)
    judgements += sum(map(len, qrels.values()))
    return [[key, text, None] for key, text in queries.items()]


sets = {key: load(folder) for key, folder in folders("beir")}
tell(sets, version("beir"), f"equal; {judgements} judgements, all of existing passages")
