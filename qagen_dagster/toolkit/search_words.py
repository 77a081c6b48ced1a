"""The tool that finds words, phrases and regular expressions. `matching` finds the matches."""

import difflib
import re
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from qagen_dagster.errors import ToolError
from qagen_dagster.records.document import VisualType
from qagen_dagster.toolkit import matching
from qagen_dagster.toolkit.back_matter import is_reference_list, reference_lines
from qagen_dagster.toolkit.document_view import DocumentView
from qagen_dagster.toolkit.excerpt import enclose, neutralise, one_line, row, row_around, shown_label
from qagen_dagster.toolkit.matching import Hit, Hits, find_literal, find_regex
from qagen_dagster.toolkit.running_heads import running_heads
from qagen_dagster.toolkit.tool import Tool, tool

MAX_WORDS = 6
_WORD = re.compile(r"\b\w{3,40}\b")
MAX_GROUPS = 30
MAX_CHARACTERS = 16_000
MAX_MATCH_ROW = 2_000
MAX_CONTEXT_ROW = 500
_MAX_GROUP_LINES = 60
_REGEX_SIGNS = (".*", ".+", "|", "\\", "[", "(?", "^", "$")


def near_words(view: DocumentView, text: str) -> str:
    """For each of the first words of a pattern that has no match, a note whether the word or a similar word is in the document."""
    words = list(dict.fromkeys(_WORD.findall(text.casefold())))[:MAX_WORDS]
    return "; ".join(_occurrence(view, word) for word in words)


def _occurrence(view: DocumentView, word: str) -> str:
    line = view.vocabulary.get(word)
    if line is not None:
        return f'"{word}" alone occurs, first on line {line}'
    candidates = [
        other
        for other in view.vocabulary
        if abs(len(other) - len(word)) <= 3 and (other[0] == word[0] or other[-2:] == word[-2:])
    ]
    close = difflib.get_close_matches(word, candidates, n=3, cutoff=0.7)
    if not close:
        return f'"{word}" does not occur'
    found = ", ".join(f'"{other}" (line {view.vocabulary[other]})' for other in close)
    return f'"{word}" does not occur, but {found}'


def search_tool(view: DocumentView) -> Tool:
    """Bind `search` to a document."""

    def search(
        pattern: Annotated[
            str,
            Field(
                min_length=1,
                max_length=matching.MAX_PATTERN,
                description="The word or phrase to find, or a regular expression (RE2 syntax) if regex is true.",
            ),
        ],
        regex: Annotated[bool, Field(description="True to read pattern as a regular expression.")] = False,
        context_lines: Annotated[
            int, Field(ge=0, le=20, description="How many lines to show before and after each match.")
        ] = 2,
        ignore_case: Annotated[bool, Field(description="False to tell upper case from lower case.")] = True,
        start_line: Annotated[
            int, Field(ge=1, description="Line to search from; use it to see matches that were cut.")
        ] = 1,
    ) -> str:
        """Find a word, phrase or regular expression: to locate a topic, name or number without reading everything, and to check whether a fact is stated more than once.

        A phrase is found also where a line break, a line-end hyphen or more spaces divide it. A regular expression
        (RE2) sees one line and the next, but no word divided by a hyphen. Returns the number of matching lines, then groups of rows
        with context, each under `-- match on line 41 (page 3, in "Results")`, touching ones together; empty lines
        are left out. At most 30 groups or 16,000 characters; when there is more, the last lines say how to go on. Repeated
        heads of pages are left out, and a reference list if there are matches before it.
        """
        if not view.has_text:
            return "This document has no text to search. If view_page is among your tools, look at its pages."
        if start_line > len(view.lines):
            raise ToolError(f"There is no line {start_line}: the document has lines 1-{len(view.lines)}.")
        if regex:
            found = find_regex(view, matching.regex(pattern, ignore_case=ignore_case), start_line)
        else:
            found = find_literal(view, matching.literal(pattern, ignore_case=ignore_case), start_line)
        if not found.hits:
            return _nothing(view, pattern, regex, start_line, found)
        shown, left_out = _without_lists(view, found, start_line)
        return "\n".join((_show(view, _quoted(pattern), shown, start_line, context_lines), *left_out))

    return tool(search)


def _without_lists(view: DocumentView, found: Hits, start_line: int) -> tuple[Hits, list[str]]:
    """Returns the matches outside running heads, and notes on the matches that were left out. The matches in a reference list that begins
    after `start_line` are left out, too, if any other matches remain."""
    recurring = running_heads(view.document.pages, view.lines)
    body = tuple(hit for hit in found.hits if hit.first not in recurring)
    heads = len(found.hits) - len(body)
    notes = [f"[{heads} more in heads of pages that repeat]"] if heads else []
    for first, last in reference_lines(view.document, len(view.lines)):
        rest = tuple(hit for hit in body if not first <= hit.first <= last)
        count = len(body) - len(rest)
        if count and rest and start_line < first:
            notes.append(
                f"[{count} more in the reference list: call search with start_line={first} to see them]"
            )
            body = rest
    return Hits(body, found.stopped_at), notes


@dataclass
class _Output:
    """Rows shown so far. `next_match` is the first match that did not fit, or None if all fitted."""

    rows: list[str] = field(default_factory=list)
    size: int = 0
    next_match: Hit | None = None

    def add(self, text: str) -> bool:
        """Append the text if it fits, and return whether it fits."""
        if self.size + len(text) + 1 > MAX_CHARACTERS:
            return False
        self.rows.append(text)
        self.size += len(text) + 1
        return True


def _show(view: DocumentView, quoted: str, found: Hits, start_line: int, context: int) -> str:
    groups = _groups(found.hits, context)
    output = _Output()
    for group in groups[:MAX_GROUPS]:
        if not _show_group(view, output, group, context):
            break
    else:
        if len(groups) > MAX_GROUPS:
            output.next_match = groups[MAX_GROUPS][0]
    at_least = "more than " if found.stopped_at is not None else ""
    count = len(found.hits)
    noun = "matching line" if count == 1 else "matching lines"
    where = f" from line {start_line} on" if start_line > 1 else ""
    header = f"{at_least}{count} {noun} for {quoted}{where}"
    return "\n".join((header, enclose(output.rows), *_notes(found, output.next_match)))


def _notes(found: Hits, next_match: Hit | None) -> list[str]:
    if next_match is not None:
        left = sum(1 for hit in found.hits if hit.first >= next_match.first)
        return [
            f"[{left} more matching {'line' if left == 1 else 'lines'} not shown: call search with "
            f"start_line={next_match.first} to go on, or search for something more specific]"
        ]
    if found.stopped_at is not None:
        return [
            f"[the search stopped before line {found.stopped_at}: call it with "
            f"start_line={found.stopped_at} to go on, or use a simpler pattern]"
        ]
    return []


def _reach(lines: tuple[str, ...], start: int, step: int, count: int) -> int:
    """The line that is `count` lines with text away from `start`, or the farthest line with text within 2 * `count` lines."""
    number, reached, left = start, start, count
    for _ in range(2 * count):
        number += step
        if not 1 <= number <= len(lines) or not left:
            break
        if lines[number - 1].strip():
            reached, left = number, left - 1
    return reached


def _groups(hits: tuple[Hit, ...], context: int) -> list[list[Hit]]:
    """The matches in groups. Matches whose contexts touch are in one group, unless it would have too many lines."""
    groups: list[list[Hit]] = []
    for hit in hits:
        near = bool(groups) and hit.first - context <= groups[-1][-1].last + context + 1
        if near and hit.last - groups[-1][0].first < _MAX_GROUP_LINES:
            groups[-1].append(hit)
        else:
            groups.append([hit])
    return groups


def _show_group(view: DocumentView, output: _Output, group: list[Hit], context: int) -> bool:
    """Append a group's rows. Returns False, with `next_match` set, if a match did not fit."""
    section = view.section_at(group[0].first)
    if section is not None and is_reference_list(section.title):
        context = 0
    first = _reach(view.lines, group[0].first, -1, context)
    last = _reach(view.lines, group[-1].last, 1, context)
    matched = {hit.first: hit for hit in reversed(group)}
    spans = {number for hit in group for number in range(hit.first, hit.last + 1)}
    rows_before = len(output.rows)
    if not output.add("\n".join([_group_header(view, group), *_table_head(view, group[0], first)])):
        output.next_match = group[0]
        return False
    for number in range(first, last + 1):
        if not view.lines[number - 1].strip():
            continue
        if not output.add(_row(view, number, matched.get(number), number in spans)):
            output.next_match = next((hit for hit in group if hit.first >= number), None)
            if output.next_match is group[0]:  # only its header and context fitted
                del output.rows[rows_before:]
            return output.next_match is None
    return True


def _row(view: DocumentView, number: int, hit: Hit | None, in_match: bool) -> str:
    text = view.lines[number - 1]
    if hit is None:
        return row(number, text, MAX_MATCH_ROW if in_match else MAX_CONTEXT_ROW)
    start = view.offsets[number - 1]
    at = len(view.data[start : hit.offset].decode("utf-8", "ignore"))
    return row_around(number, text, at, MAX_MATCH_ROW)


def _group_header(view: DocumentView, group: list[Hit]) -> str:
    lines = ", ".join(str(hit.first) if hit.first == hit.last else f"{hit.first}-{hit.last}" for hit in group)
    single = len(group) == 1 and group[0].first == group[0].last
    noun = "match on line" if single else "match on lines" if len(group) == 1 else "matches on lines"
    return f"-- {noun} {lines}{view.place(group[0].first, group[-1].last)}"


def _table_head(view: DocumentView, hit: Hit, first: int) -> list[str]:
    """The label and the first row of the table that contains a match, if the table begins above line `first`; otherwise empty."""
    for visual in view.visuals:
        if visual.type is not VisualType.TABLE or visual.start_line is None or visual.end_line is None:
            continue
        if visual.start_line < first and hit.first <= visual.end_line:
            rows = range(visual.start_line, first)
            head = next((number for number in rows if "|" in view.lines[number - 1]), visual.start_line)
            label = shown_label(visual.label)
            return [f"[in {label}, which begins]", row(head, view.lines[head - 1], MAX_CONTEXT_ROW)]
    return []


def _nothing(view: DocumentView, pattern: str, regex: bool, start_line: int, found: Hits) -> str:
    """Advice on what to try next. This is not an error."""
    if found.stopped_at is not None:
        return f"No match for {_quoted(pattern)} so far. {_notes(found, None)[0]}"
    parts = [f"No match for {_quoted(pattern)} in lines {start_line}-{len(view.lines)}."]
    if start_line > 1:
        parts.append("Lines before that were not searched: leave out start_line to search them too.")
    if words := near_words(view, pattern):
        parts.append(f"In the document: {neutralise(words)}.")
    if not regex and any(sign in pattern for sign in _REGEX_SIGNS):
        parts.append("The pattern was taken as it stands; set regex=true to use it as a regular expression.")
    parts.append("Try a shorter phrase or a single word, or read the document with read_lines.")
    return " ".join(parts)


def _quoted(pattern: str) -> str:
    return f'"{one_line(pattern, 80)}"'
