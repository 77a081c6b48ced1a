"""pandas: read_csv. An apostrophe before a formula is part of the file."""

from pathlib import Path

import pandas
from report import report


def load(folder: Path) -> list[list[str]]:
    frame = pandas.read_csv(folder / "questions.csv", dtype=str, keep_default_na=False)
    texts = frame.to_numpy().ravel()
    assert not any(text.startswith(tuple("=+-@\t\r\n")) for text in texts)
    return [
        [row.id, row.question.removeprefix("'"), row.answer.removeprefix("'")] for row in frame.itertuples()
    ]


report("csv", "pandas", load)
