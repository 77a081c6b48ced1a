"""Whether a made question set ranks retrieval systems as people's questions do. `make bench-ranking` runs it."""
