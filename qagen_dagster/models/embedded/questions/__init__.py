"""Questions by rules: families of candidates, their wording and checks, the generator, and the matcher for duplicates."""
