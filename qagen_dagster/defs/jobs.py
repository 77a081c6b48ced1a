"""Which assets run together, and the jobs that run them. `definitions.py` builds the jobs."""

from qagen_dagster.loop.unfinished import DOCUMENTS, QUESTIONS

INDEX = ("document_index",)
GRADING = ("grounding_report",)
EXPORTS = ("exports",)
EVALUATIONS = ("closed_book_check", "retrieval_baseline", "answer_baseline")
EXAM_PART = ("idea_plans", "exam_items")
ITEM_BANK = ("item_bank",)
PROBLEMS = (
    "problem_sources",
    "classifications",
    "scans",
    "diagrams",
    "ideas",
    "alternates",
    "variants",
    "conversions",
    "problem_bank",
)
QUESTION_SET, PROBLEM_SET = "question_set", "problem_set"
JOBS = {  # job: its assets, its description
    "parse_corpus": (DOCUMENTS, "Parse the documents of a corpus and find their tables and figures."),
    "index_corpus": (INDEX, "Build the search index of a corpus, or update it where documents changed."),
    QUESTION_SET: (QUESTIONS, "Generate, validate, publish and grade the questions of a combination."),
    "evaluation": (
        EVALUATIONS,
        "Evaluate a published set: answers without documents, search, answers from documents.",
    ),
    "exam_part": (EXAM_PART, "Make the items of one part of an exam: an exam, a schema and a difficulty."),
    "exam_bank": (ITEM_BANK, "Collect the items of an exam into its bank and export the bank."),
    PROBLEM_SET: (PROBLEMS, "Run a problem set through all stages and export its bank."),
}
