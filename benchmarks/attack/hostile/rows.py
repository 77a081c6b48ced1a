"""JSONL: deep values, numbers that no number type holds, ids that lead elsewhere, and rows without end."""

from __future__ import annotations

import json

from benchmarks.attack.hostile.kind import Kind, document

HEALTHY = "healthy.jsonl", b'{"id": "a", "text": "The mast is nine metres high."}\n'
ROW = '{"id": "good", "text": "The mast is nine metres high."}\n'


def _row(**fields: object) -> str:
    return json.dumps({"text": "The mast is nine metres high."} | fields) + "\n"


def rows() -> list[Kind]:
    deep = "[" * 100_000 + "]" * 100_000
    objects = '{"a":' * 100_000 + "1" + "}" * 100_000
    many = '{"id": "a", "id": "b", "text": "one", "text": "two"}\n'
    return [
        document("keys twice in a row", "twice.jsonl", many, "parsed"),
        document("an array, 100,000 levels deep", "deep.jsonl", f'{ROW}{{"text": {deep}}}\n', "parsed", "corrupt"),
        document("objects, 100,000 levels deep", "objects.jsonl", ROW + objects, "parsed", "corrupt"),
        document("an array of 100,000 levels, not closed", "unclosed.jsonl", ROW + "[" * 100_000, "parsed", "corrupt"),
        document("numbers beyond any float", "float.jsonl", ROW + '{"text": "a", "year": 1e999}\n', "parsed"),
        document("NaN and Infinity", "nan.jsonl", ROW + '{"text": "a", "year": NaN, "date": -Infinity}\n', "parsed", "corrupt"),
        document("an integer of 100,000 digits", "digits.jsonl", f'{ROW}{{"text": "a", "year": {"9" * 100_000}}}\n', "parsed", "corrupt"),
        document("an integer of 4,000 digits as id", "id.jsonl", f'{ROW}{{"text": "a", "id": {"9" * 4_000}}}\n', "parsed"),
        document("rows without a text", "missing.jsonl", ROW + '{}\n{"id": 1}\n{"text": ""}\n{"text": null}\n', "parsed", "empty"),
        document("a million rows without a field", "million.jsonl", "{}\n" * 1_000_000, "too_large"),
        document("rows that are no objects", "values.jsonl", ROW + '[]\n1\n"a"\nnull\ntrue\n', "parsed", "corrupt"),
        document("no row is an object", "none.jsonl", "1\n2\n3\n", "not_what_it_says"),
        document("fields of the wrong type", "types.jsonl", ROW + '{"text": ["a"], "title": {}}\n{"text": "a", "title": [[]], "authors": {"a": 1}}\n', "parsed", "empty"),
        document("authors in 1,000 levels", "authors.jsonl", f'{{"text": "a", "authors": {"[" * 900 + "]" * 900}}}\n', "parsed"),
        document("half a surrogate pair", "half.jsonl", '{"id": "\\ud800", "text": "a \\udfff b", "title": "\\ud800"}\n', "parsed"),
        document("NUL and control characters in strings", "nul.jsonl", '{"id": "a\\u0000b", "text": "a\\u0000\\u001b[2Jb"}\n', "parsed"),
        document("an id that leads out of the store", "up.jsonl", _row(id="../../../../../../tmp/x") + _row(id="/etc/passwd"), "parsed"),
        document("an id of 5,000 characters", "long.jsonl", _row(id="x" * 5_000), "parsed"),
        document("an id with line ends and separators", "lines.jsonl", _row(id="a\nb\r\u2028c--d...e"), "parsed"),
        document("1,000 rows with one id", "same.jsonl", _row(id="a") * 1_000, "parsed", "corrupt"),
        document("ids that differ in case alone", "case.jsonl", _row(id="A") + _row(id="a") + _row(id="\u00e5") + _row(id="a\u030a"), "parsed"),
        document("a row of 10 MB", "row.jsonl", _row(text="x" * 10_000_000), "parsed"),
        document("a row cut in the middle", "cut.jsonl", ROW + ROW[:-9], "parsed", "corrupt"),
        document("two objects in a line", "two.jsonl", ROW.strip() + ROW, "corrupt", "parsed", "not_what_it_says"),
        document("UTF-16", "utf16.jsonl", ROW.encode("utf-16"), "parsed"),
        document("pages without end in a row", "pages.jsonl", _row(text="a\f" * 50_000), "parsed", "too_large"),
        document("HTML named .jsonl", "html.jsonl", "<html>" + "<b>" * 9_999, "not_what_it_says"),
        document("100 kB of quotes and backslashes", "quotes.jsonl", ROW + '{"text": "' + '\\"' * 50_000 + "\n", "parsed", "corrupt"),
    ]  # fmt: skip
