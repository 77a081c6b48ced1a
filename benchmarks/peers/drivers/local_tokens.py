"""An encoding for `tiktoken` without a download: every byte is a token. It only measures the length of chunks."""

import tiktoken

_BYTES = tiktoken.Encoding(
    "bytes", pat_str=r"(?s:.)", mergeable_ranks={bytes([n]): n for n in range(256)}, special_tokens={}
)


def install() -> None:
    tiktoken.get_encoding = lambda name: _BYTES
    tiktoken.encoding_for_model = lambda name: _BYTES
