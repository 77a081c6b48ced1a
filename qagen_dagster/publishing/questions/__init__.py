"""Published question sets as files of other programs."""
