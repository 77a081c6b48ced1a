"""Reads the configuration of exams: exam.yaml and schemas.md."""
