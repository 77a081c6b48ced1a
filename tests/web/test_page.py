from __future__ import annotations

import re
from pathlib import Path

from qagen_dagster.web.page import report_page
from qagen_dagster.web.sets import Sets
from tests.support.reviewed import KEY, reviewed


def test_a_document_cannot_end_the_script_element_of_a_report(tmp_path: Path) -> None:
    text = report_page(Sets(reviewed(tmp_path / "project"), [KEY]).all())
    assert "alert(1)" in text
    assert "<img src=x" not in text
    assert text.count("</script>") == 6
    assert re.findall(r"script-src ([^;]+);", text)[0].count("'sha256-") == 5
