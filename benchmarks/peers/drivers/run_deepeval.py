"""deepeval: `Synthesizer.generate_goldens_from_contexts`, each document as a context.

Arguments: folder of documents, address of the server, number of questions, output file.
"""

import json
import sys
from pathlib import Path

from deepeval.models import LocalModel
from deepeval.synthesizer import Synthesizer

folder, url, count, output = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])
files = sorted(folder.iterdir())
synthesizer = Synthesizer(model=LocalModel(model="m", base_url=url, api_key="none"), max_concurrent=20)
goldens = synthesizer.generate_goldens_from_contexts(
    contexts=[[file.read_text()] for file in files],
    source_files=[file.name for file in files],
    max_goldens_per_context=count // len(files),
)
rows = [{"question": one.input, "answer": one.expected_output, "evidence": one.context} for one in goldens]
output.write_text(json.dumps(rows))
