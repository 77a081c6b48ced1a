from __future__ import annotations

import re
from pathlib import Path

from tests.support.reviewed import report, reviewed


def test_a_document_cannot_end_the_script_element_of_a_report(tmp_path: Path) -> None:
    text = report(reviewed(tmp_path / "project"))
    assert "alert(1)" in text
    assert "<img src=x" not in text
    assert text.count("</script>") == 7
    assert re.findall(r"script-src ([^;]+);", text)[0].count("'sha256-") == 6
