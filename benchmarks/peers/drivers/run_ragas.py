"""ragas: `TestsetGenerator.generate_with_langchain_docs` with its default transforms and synthesizers.

Arguments: folder of documents, address of the server, number of questions, output file.
"""

import json
import re
import sys
from pathlib import Path

import httpx
import local_tokens

local_tokens.install()

from langchain_core.documents import Document  # noqa: E402
from langchain_openai import ChatOpenAI, OpenAIEmbeddings  # noqa: E402
from ragas.embeddings import LangchainEmbeddingsWrapper  # noqa: E402
from ragas.llms import LangchainLLMWrapper  # noqa: E402
from ragas.run_config import RunConfig  # noqa: E402
from ragas.testset import TestsetGenerator  # noqa: E402

# ragas starts an event loop for each of its stages, and a connection of an earlier loop cannot be used again.
LIMITS = httpx.Limits(max_keepalive_connections=0)
folder, url, count, output = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])
documents = [
    Document(page_content=file.read_text(), metadata={"source": file.name})
    for file in sorted(folder.iterdir())
]
generator = TestsetGenerator(
    llm=LangchainLLMWrapper(
        ChatOpenAI(
            model="m", base_url=url, api_key="none", http_async_client=httpx.AsyncClient(limits=LIMITS)
        )
    ),
    embedding_model=LangchainEmbeddingsWrapper(
        OpenAIEmbeddings(model="e", base_url=url, api_key="none", check_embedding_ctx_length=False)
    ),
)
found = generator.generate_with_langchain_docs(
    documents, testset_size=count, run_config=RunConfig(max_workers=20)
)
rows = [
    {
        "question": row["user_input"],
        "answer": row["reference"],
        "evidence": [re.sub(r"^<\d+-hop>", "", context) for context in row["reference_contexts"]],
    }
    for row in found.to_list()
]
output.write_text(json.dumps(rows))
