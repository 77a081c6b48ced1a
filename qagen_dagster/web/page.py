"""The review page: the files that the server sends, and the same page as one file that contains all data."""

import base64
import json
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from pydantic_core import to_json, to_jsonable_python

from qagen_dagster.errors import DocumentError
from qagen_dagster.web.review_set import Detail, ReviewSet
from qagen_dagster.web.sets import Reviews

STATIC = Path(__file__).parent / "static"
SCRIPTS = ("elements.js", "data.js", "list.js", "detail.js", "overview.js", "review.js")
STYLE = "page.css"
MEDIA_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
POLICY = (
    "default-src 'none'; script-src {scripts}; style-src {styles}; img-src {images}; connect-src {connect}; "
    "base-uri 'none'; form-action 'none'"
)


def static_files() -> dict[str, bytes]:
    """The scripts and the style by name."""
    return {name: (STATIC / name).read_bytes() for name in (*SCRIPTS, STYLE)}


def server_page() -> str:
    """The page that loads its scripts, its style and its data from the server."""
    style = f'<link rel="stylesheet" href="{STYLE}">'
    return _page(style + "".join(f'<script src="{name}" defer></script>\n' for name in SCRIPTS))


def data_json(sets: Iterable[ReviewSet], reviews: Reviews, settings: dict[str, object]) -> bytes:
    """The rows and decisions of the sets, and the settings of the server that the page needs."""
    found = list(sets)
    titles = {one.key: {"title": one.title, "versioned": one.versioned} for one in found}
    parts = {
        **{name: json.dumps(value, ensure_ascii=False).encode() for name, value in settings.items()},
        "sets": json.dumps(titles, ensure_ascii=False).encode(),
        "rows": to_json([row for one in found for row in one.rows]),
        "reviews": reviews_json(found, reviews),
    }
    return b"{" + b",".join(f'"{name}":'.encode() + value for name, value in parts.items()) + b"}"


def reviews_json(sets: Iterable[ReviewSet], reviews: Reviews) -> bytes:
    """The decisions by set and question, and the number of decisions."""
    found = {one.key: reviews.of(one) for one in sets}
    count = sum(len(one.decisions) for some in found.values() for one in some.values())
    return f'{{"count":{count},"sets":'.encode() + to_json(found) + b"}"


def agreement_json(sets: Iterable[ReviewSet], reviews: Reviews) -> bytes:
    """The review facts of each set that has decisions, by set key."""
    found = {one.key: reviews.facts(one) for one in sets}
    return to_json({key: one for key, one in found.items() if one.unreviewed < one.questions})


def report_page(sets: Iterable[ReviewSet], reviews: Reviews) -> str:
    """The page as one file that needs no server. It can only be read."""
    found = list(sets)
    details = {one.key: {row.id: one.detail(row.id) for row in one.rows} for one in found}
    data = json.loads(data_json(found, reviews, {"readOnly": True, "reviewer": ""}))
    data["details"] = to_jsonable_python(details)
    data["pictures"] = _pictures(found, details)
    data["agreement"] = json.loads(agreement_json(found, reviews))
    files = {name: content.decode() for name, content in static_files().items()}
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    # so that no text can end the script
    text = text.translate({ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"})
    inside = f'<script type="application/json" id="data">{text}</script>\n'
    scripts = "".join(f"<script>{files[name]}</script>\n" for name in SCRIPTS)
    policy = POLICY.format(
        scripts=" ".join(_hash(files[name]) for name in SCRIPTS),
        styles=_hash(files[STYLE]),
        images="data:",
        connect="'none'",
    )
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    return _page(f"{meta}<style>{files[STYLE]}</style>", inside + scripts)


def _page(head: str, end: str = "") -> str:
    text = (STATIC / "page.html").read_text(encoding="utf-8")
    return text.replace("<!--head-->", head).replace("<!--end-->", end)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"


def _pictures(sets: Iterable[ReviewSet], details: dict[str, dict[str, Detail]]) -> dict[str, str]:
    """The pictures that the page shows open at first, as data URIs by set, source and label. Pictures that cannot be drawn are left out."""
    made: dict[str, str] = {}
    for found in sets:
        for key, detail in details[found.key].items():
            for shown in detail.pictures:
                name = f"{found.key}|{detail.source}|{shown.label}"
                if name not in made and shown.is_open:
                    made[name] = _data_uri(found, key, shown.page, shown.label)
    return {name: uri for name, uri in made.items() if uri}


def _data_uri(found: ReviewSet, key: str, page: int, label: str) -> str:
    try:
        drawn = found.picture(key, page, label)
    except DocumentError:
        return ""
    return "" if drawn is None else f"data:{drawn.media_type};base64,{base64.b64encode(drawn.data).decode()}"
