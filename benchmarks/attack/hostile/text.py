"""Plain text and Markdown: encodings, control characters, lengths, nesting, and texts that are slow to match."""

from __future__ import annotations

from benchmarks.attack.hostile.kind import Kind, Trap, document, noise

HEALTHY = "healthy.txt", b"The mast of the station is nine metres high.\n"
HEALTHY_MARKDOWN = (
    "healthy.md",
    b"# Station\n\nThe mast is nine metres high.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
)
TEXT = "The mast is nine metres high.\n"
LINE = "x" * 10_000_000


def texts() -> list[Kind]:
    return [
        document("no bytes", "empty.txt", b"", "empty"),
        document("a byte order mark and nothing else", "bom.txt", b"\xef\xbb\xbf", "empty"),
        document("three byte order marks", "boms.txt", b"\xef\xbb\xbf" * 3 + TEXT.encode(), "parsed"),
        document("UTF-16 with a mark", "utf16.txt", TEXT.encode("utf-16"), "parsed"),
        document("UTF-16 without a mark", "utf16be.txt", (TEXT * 9).encode("utf-16-be"), "parsed"),
        document("UTF-16 with half pairs", "half.txt", b"\xff\xfe" + b"a\0\0\xd8" * 99, "parsed", "binary"),
        document("UTF-16 of an odd number of bytes", "odd.txt", TEXT.encode("utf-16") + b"a", "parsed"),
        document("UTF-32 with numbers beyond Unicode", "utf32.txt", b"\xff\xfe\0\0" + b"\xff" * 400, "binary", "parsed"),
        document("surrogates as UTF-8", "surrogates.txt", TEXT + "\ud800\udfff" * 99, "parsed"),
        document("overlong UTF-8", "overlong.txt", TEXT.encode() + b"\xc0\xaf\xe0\x80\xaf" * 9, "parsed"),
        document("NUL in every line", "nul.txt", TEXT.replace("mast", "ma\0st") * 99, "parsed"),
        document("nothing but NUL", "nuls.txt", bytes(1_000_000), "binary"),
        document("control characters only", "controls.txt", bytes(range(1, 9)) * 9_000, "binary"),
        document("terminal escapes", "escapes.txt", TEXT * 9 + "\x1b]0;owned\x07\x1b[2J", "parsed"),
        document("text that runs from right to left", "bidi.txt", "\u202e" + TEXT + "\u2066" * 9_999, "parsed"),
        document("a million zero-width characters", "width.txt", TEXT + "\u200b\u200d\ufeff" * 333_333, "parsed"),
        document("a letter with 100,000 accents", "accents.txt", TEXT + "a" + "\u0301" * 100_000, "parsed"),
        document("characters that are none", "none.txt", TEXT + "\ufffe\uffff\U0010ffff" * 99, "parsed"),
        document("a line of 10 MB", "line.txt", LINE, "parsed"),
        document("a million empty lines", "lines.txt", "\n" * 1_000_000 + TEXT, "parsed"),
        document("a million lines ended by CR", "cr.txt", "a\r" * 1_000_000, "parsed"),
        document("100,000 form feeds", "pages.txt", "a\f" * 100_000, "parsed", "too_large"),
        document("a million separators of lines", "separators.txt", "a\u2028b\u2029\x85" * 333_333, "parsed"),
        document("51 million characters", "long.txt", lambda _: TEXT * 1_760_000, "too_large"),
        document("5 MB of spaces", "spaces.txt", " " * 5_000_000 + "a", "parsed"),
        document("numbered headings, 100,000 levels deep", "numbers.txt", "1." * 100_000 + " A\n" + TEXT, "parsed"),
        document("100,000 lines that look like headings", "heads.txt", "1.1 On The Mast\n\n" * 50_000, "parsed"),
        document("100,000 lines of capitals", "capitals.txt", "THE MAST\n\nnine\n\n" * 33_000, "parsed"),
        document("a line of capitals of 1 MB", "capital.txt", "A " * 500_000 + "\n" + TEXT, "parsed"),
        document("a line underlined with 1 MB", "under.txt", "A\n" + "=" * 1_000_000 + "\n" + TEXT, "parsed"),
        document("a header of 100,000 fields", "header.txt", "Author: A; B\n" * 100_000 + "\n" + TEXT, "parsed"),
        document("a program named .txt", "program.txt", b"\x7fELF\x02\x01\x01" + noise(5_000), "binary"),
        document("a PDF named .txt", "pdf.txt", b"%PDF-1.7\n%\xe2\xe3\n" + noise(5_000), "binary"),
        document("text, then a megabyte of noise", "noise.txt", TEXT.encode() * 300 + noise(1_000_000), "binary", "parsed"),
        document("a suffix that no format has", "program.exe", b"MZ" + noise(99), "unsupported"),
        document("no suffix", "README", TEXT, "unsupported"),
        document("an archive bomb named .zip", "bomb.zip", b"PK\x03\x04" + bytes(999), "unsupported"),
    ]  # fmt: skip


def markdown() -> list[Kind]:
    return [
        document("100,000 nested quotes", "quotes.md", ">" * 100_000 + " a\n", "parsed"),
        document("3,000 nested lists", "lists.md", "".join(" " * n + "- a\n" for n in range(3_000)), "parsed"),
        document("one line of 50,000 list marks", "marks.md", "- " * 50_000 + "a\n", "parsed"),
        document("20,000 open brackets", "brackets.md", "[" * 20_000 + "a\n", "parsed"),
        document("10,000 links inside links", "links.md", "[a](" * 10_000 + ")" * 10_000, "parsed"),
        document("20,000 images that are not closed", "images.md", "![a](b " * 20_000, "parsed"),
        document("emphasis that never closes", "emphasis.md", "*a **a " * 10_000, "parsed"),
        document("stars and underscores in turn", "stars.md", "*_" * 10_000 + "a" + "_*" * 10_000, "parsed"),
        document("backticks in growing runs", "ticks.md", "".join("`" * n + " a " for n in range(1, 1_500)), "parsed"),
        document("a fence that never closes", "fence.md", "```\n" + TEXT * 50_000, "parsed"),
        document("10,000 fences", "fences.md", "```mermaid\na\n```\n" * 10_000, "parsed"),
        document("a table of 2,000 columns", "wide.md", ("|a" * 2_000 + "|\n" + "|-" * 2_000 + "|\n") + "|1|\n" * 99, "parsed"),
        document("a table of 20,000 rows", "tall.md", "|a|b|\n|-|-|\n" + "|1|2|\n" * 20_000, "parsed"),
        document("100,000 tags that are not closed", "tags.md", "<div><table>" * 50_000, "parsed"),
        document("100,000 less-than signs", "less.md", "<" * 100_000, "parsed"),
        document("60,000 entities", "entities.md", "&amp;&#x10ffff;&#0;" * 20_000, "parsed"),
        document("10,000 link definitions", "definitions.md", "".join(f"[{n}]: x\n" for n in range(10_000)), "parsed"),
        document("10,000 headings", "headings.md", "# a\n" * 10_000, "parsed"),
        document("images elsewhere", "elsewhere.md", _elsewhere, "parsed"),
        document("front matter with an alias bomb", "aliases.md", _aliases(), "parsed"),
        document("front matter that names Python objects", "python.md", _python, "parsed"),
        document("front matter, 20,000 levels deep", "front.md", f"---\ntitle: {'[' * 20_000}\n---\n{TEXT}", "parsed"),
        document("front matter that never closes", "open.md", "---\ntitle: a\n" * 10_000, "parsed"),
        document("TOML front matter, 50,000 levels deep", "toml.md", f"+++\na = {'[' * 50_000}\n+++\n{TEXT}", "parsed"),
        document("front matter with numbers that are too long", "long.md", f"---\ndate: {'9' * 50_000}\ntitle: 1e999\n---\n{TEXT}", "parsed"),
        document("a picture named .md", "picture.md", b"\x89PNG\r\n\x1a\n" + noise(999), "binary"),
    ]  # fmt: skip


def _elsewhere(trap: Trap) -> str:
    places = (f"file://{trap.file}", str(trap.file), f"{trap.url}/beacon.png", "../" * 30 + str(trap.file))
    return TEXT + "".join(f"![Figure 1: a]({place})\n\n<img src='{place}'>\n\n" for place in places)


def _aliases() -> str:
    rows = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    return "\n".join(["---", "a0: &a0 x", *rows, "title: *a11", "---", TEXT])


def _python(trap: Trap) -> str:
    return f"---\ntitle: !!python/object/apply:os.system ['touch {trap.file}.touched']\n---\n{TEXT}"
