"""What `qagen export --push` uses of MLflow, in memory."""


def set_tracking_uri(address: str) -> None:
    assert address
