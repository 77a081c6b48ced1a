"""synthetic-data-kit: its commands `create` and `curate` over a folder.

Arguments: folder of documents, address of the server, number of questions, output file.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import synthetic_data_kit
import yaml

folder, url, count, output = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])
files = sorted(folder.iterdir())
config = yaml.safe_load((Path(synthetic_data_kit.__file__).parent / "config.yaml").read_text())
config["api-endpoint"] |= {"api_base": url, "api_key": "none", "model": "m"}
config["generation"]["batch_size"] = 20
with tempfile.TemporaryDirectory() as place:
    root = Path(place)
    (root / "text").mkdir()
    for file in files:  # it takes text files only
        shutil.copy(file, root / "text" / f"{file.stem}.txt")
    (root / "config.yaml").write_text(yaml.safe_dump(config))
    command = [str(Path(sys.executable).with_name("synthetic-data-kit")), "-c", str(root / "config.yaml")]
    pairs = str(count // len(files))
    subprocess.run(
        [*command, "create", str(root / "text"), "-n", pairs, "-o", str(root / "made")], check=True
    )
    subprocess.run([*command, "curate", str(root / "made"), "-o", str(root / "kept")], check=True)
    found = [json.loads(file.read_text()) for file in sorted((root / "kept").glob("*.json"))]
rows = [
    {"question": pair["question"], "answer": pair["answer"], "evidence": []}
    for one in found
    for pair in one.get("filtered_pairs") or one["qa_pairs"]
]
output.write_text(json.dumps(rows))
