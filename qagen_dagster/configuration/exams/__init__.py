"""Configuration of exams: exam.yaml and schemas.md."""
