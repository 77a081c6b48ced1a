"""TeX of problems: cutting it into items, looking at its structure, comparing what it says. No model, no store."""
