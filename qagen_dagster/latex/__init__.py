"""TeX of problems: splitting it into items, checking its structure, comparing, compiling."""
