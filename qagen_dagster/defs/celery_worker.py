"""The application of Celery workers: `celery --app qagen_dagster.defs.celery_worker worker --queues dagster`."""

from qagen_dagster.defs.executor import build_celery_app

app = build_celery_app()
