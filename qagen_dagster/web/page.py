"""The files of the page: as the server sends them, and as one file with all data in it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from qagen_dagster.errors import DocumentError
from qagen_dagster.web.details import Detail, detail, picture
from qagen_dagster.web.reviews import QuestionReviews, reviews_of
from qagen_dagster.web.sets import ReviewSet, Row

STATIC = Path(__file__).parent / "static"
SCRIPTS = ("text.js", "data.js", "list.js", "detail.js", "review.js")
STYLE = "page.css"
MEDIA_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
POLICY = (
    "default-src 'none'; script-src {scripts}; style-src {styles}; img-src {images}; connect-src {connect}; "
    "base-uri 'none'; form-action 'none'"
)
_ROWS = TypeAdapter(list[Row])
_REVIEWS = TypeAdapter(dict[str, dict[str, QuestionReviews]])
_DETAILS = TypeAdapter(dict[str, dict[str, Detail]])


def static_files() -> dict[str, bytes]:
    """The scripts and the style by name."""
    return {name: (STATIC / name).read_bytes() for name in (*SCRIPTS, STYLE)}


def server_page() -> str:
    """The page that loads its scripts, its style and its data from the server."""
    style = f'<link rel="stylesheet" href="{STYLE}">'
    return _page(style, "".join(f'<script src="{name}" defer></script>\n' for name in SCRIPTS))


def data_of(sets: Iterable[ReviewSet], settings: dict[str, object]) -> dict[str, Any]:
    """The rows and decisions of the sets, and what the page has to know of the server."""
    found = list(sets)
    rows = [row for one in found for row in one.rows]
    reviews = {one.combination.key: reviews_of(one) for one in found}
    return {
        **settings,
        "rows": _ROWS.dump_python(rows, mode="json"),
        "reviews": _REVIEWS.dump_python(reviews, mode="json"),
    }


def reviews_json(reviews: dict[str, dict[str, QuestionReviews]]) -> bytes:
    """The decisions by combination and question."""
    return _REVIEWS.dump_json(reviews)


def report_page(sets: Iterable[ReviewSet]) -> str:
    """The page as one file that needs no server. It can only be read."""
    found = list(sets)
    details = {one.combination.key: {row.id: detail(one, row.id) for row in one.rows} for one in found}
    data = data_of(found, {"readOnly": True, "reviewer": ""})
    data["details"] = _DETAILS.dump_python(details, mode="json")
    data["pictures"] = _pictures(found, details)
    files = {name: content.decode() for name, content in static_files().items()}
    inside = f'<script type="application/json" id="data">{_embedded(data)}</script>\n'
    scripts = "".join(f"<script>{files[name]}</script>\n" for name in SCRIPTS)
    policy = POLICY.format(
        scripts=" ".join(_hash(files[name]) for name in SCRIPTS),
        styles=_hash(files[STYLE]),
        images="data:",
        connect="'none'",
    )
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    return _page(f"{meta}<style>{files[STYLE]}</style>", "", inside + scripts)


def _page(head: str, late: str, end: str = "") -> str:
    text = (STATIC / "page.html").read_text(encoding="utf-8")
    return text.replace("<!--head-->", head + late).replace("<!--end-->", end)


def _embedded(data: object) -> str:
    """JSON that cannot end the script element that it is in."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.translate({ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"})


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"


def _pictures(sets: Iterable[ReviewSet], details: dict[str, dict[str, Detail]]) -> dict[str, str]:
    """The pages that questions are about as data URIs, by combination, document and visual. One that cannot be drawn is left out."""
    made: dict[str, str] = {}
    for found in sets:
        for key, one in details[found.combination.key].items():
            for visual in one.visuals:
                name = f"{found.combination.key}|{one.source}|{visual.label}"
                if name not in made and visual.page is not None:
                    made[name] = _data_uri(found, key, visual.page, visual.label)
    return {name: uri for name, uri in made.items() if uri}


def _data_uri(found: ReviewSet, key: str, page: int, label: str) -> str:
    try:
        drawn = picture(found, key, page, label)
    except DocumentError:
        return ""
    return "" if drawn is None else f"data:{drawn.media_type};base64,{base64.b64encode(drawn.data).decode()}"
