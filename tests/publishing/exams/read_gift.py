"""Reads a GIFT file with a parser that is not ours and prints what it found; a process of its own, since that
parser builds its tables when it is imported and talks about it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pygiftparser import parser

found = parser.parse(Path(sys.argv[1]).read_text(encoding="utf-8"))
rows = [
    {
        "name": question.name,
        "text": question.text,
        "category": question.category,
        "kind": type(question.answer).__name__,
        "options": [[option.raw_text, option.text, option.feedback] for option in question.answer.options],
    }
    for question in found.questions
]
Path(sys.argv[2]).write_text(json.dumps(rows), encoding="utf-8")
