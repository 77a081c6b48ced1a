-- Tables of the catalog. All rows are derived from the store's records. Timestamps are in UTC.
-- NULL means "not known"; NaN is never stored.

CREATE TABLE catalog_info (
    schema_version INTEGER NOT NULL,
    built_at       TIMESTAMP NOT NULL
);
INSERT INTO catalog_info VALUES ($version, now() AT TIME ZONE 'UTC');

-- Every document of a corpus, with or without text: `outcome` says how parsing ended.
CREATE TABLE documents (
    corpus        VARCHAR NOT NULL,
    document_id   VARCHAR NOT NULL,
    source        VARCHAR NOT NULL,
    row_id        VARCHAR,
    format        VARCHAR NOT NULL,
    outcome       VARCHAR NOT NULL,
    detail        VARCHAR,
    version       VARCHAR NOT NULL,
    source_sha256 VARCHAR NOT NULL,
    text_sha256   VARCHAR,
    parser        VARCHAR,
    bytes         BIGINT,
    line_count    BIGINT,
    char_count    BIGINT,
    page_count    INTEGER,
    section_count INTEGER,
    ocr           BOOLEAN,
    title         VARCHAR,
    authors       VARCHAR[],
    date          VARCHAR,
    doi           VARCHAR,
    abstract      VARCHAR,
    language      VARCHAR
);

CREATE TABLE sections (
    corpus      VARCHAR NOT NULL,
    document_id VARCHAR NOT NULL,
    position    INTEGER NOT NULL,
    title       VARCHAR NOT NULL,
    level       INTEGER NOT NULL,
    start_line  INTEGER NOT NULL
);

CREATE TABLE visuals (
    corpus      VARCHAR NOT NULL,
    document_id VARCHAR NOT NULL,
    position    INTEGER NOT NULL,
    label       VARCHAR NOT NULL,
    type        VARCHAR NOT NULL,
    page        INTEGER,
    box         DOUBLE[],       -- x0, y0, x1, y1 in points from the top left of the page as displayed
    caption     VARCHAR,
    reference   VARCHAR,
    start_line  INTEGER,
    end_line    INTEGER
);

-- How the latest work on each document of a combination ended; one row per document.
CREATE TABLE outcomes (
    combination          VARCHAR NOT NULL,
    corpus               VARCHAR NOT NULL,
    scenario             VARCHAR NOT NULL,
    mode                 VARCHAR NOT NULL,
    document_id          VARCHAR NOT NULL,
    document_version     VARCHAR NOT NULL,
    source               VARCHAR,
    outcome              VARCHAR NOT NULL,
    detail               VARCHAR,
    fingerprint          VARCHAR,
    run_id               VARCHAR NOT NULL,
    recorded_at          TIMESTAMP,
    target_count         INTEGER,
    accepted_count       INTEGER,
    rejected_count       INTEGER,
    total_attempts       INTEGER,
    validation_pass_rate DOUBLE,
    dedup_rejection_rate DOUBLE,
    exhausted            BOOLEAN,
    viewed_pages         INTEGER[]
);

-- Every proposed question of the results above.
CREATE TABLE candidates (
    combination   VARCHAR NOT NULL,
    corpus        VARCHAR NOT NULL,
    scenario      VARCHAR NOT NULL,
    mode          VARCHAR NOT NULL,
    document_id   VARCHAR NOT NULL,
    attempt       INTEGER NOT NULL,
    question_id   VARCHAR,
    question      VARCHAR NOT NULL,
    answer        VARCHAR NOT NULL,
    status        VARCHAR NOT NULL,
    reason        VARCHAR,
    detail        VARCHAR,
    duplicate_of  VARCHAR,
    duplicate_score DOUBLE,
    duplicate_step VARCHAR,  -- exact, similarity or model; NULL: no duplicate, or not known
    stage         VARCHAR,
    question_type VARCHAR,
    content_refs  VARCHAR[],
    evidence      JSON
);

CREATE TABLE verdicts (
    combination     VARCHAR NOT NULL,
    corpus          VARCHAR NOT NULL,
    scenario        VARCHAR NOT NULL,
    mode            VARCHAR NOT NULL,
    document_id     VARCHAR NOT NULL,
    attempt         INTEGER NOT NULL,
    question        VARCHAR NOT NULL,
    proposed_answer VARCHAR NOT NULL,
    blind_answer    VARCHAR NOT NULL,
    answerable      BOOLEAN NOT NULL,
    matches         BOOLEAN,  -- here and below NULL: not judged
    non_trivial     BOOLEAN,
    unambiguous     BOOLEAN,
    relevant        BOOLEAN,
    supported       BOOLEAN,
    premise_holds   BOOLEAN,
    self_contained  BOOLEAN,
    passed          BOOLEAN NOT NULL,
    explanation     VARCHAR
);

-- The current validated sets. The option `publish` may leave some of these questions unpublished.
CREATE TABLE questions (
    question_id     VARCHAR NOT NULL,
    combination     VARCHAR NOT NULL,
    corpus          VARCHAR NOT NULL,
    scenario        VARCHAR NOT NULL,
    mode            VARCHAR NOT NULL,
    question        VARCHAR NOT NULL,
    answer          VARCHAR NOT NULL,
    question_type   VARCHAR,
    content_refs    VARCHAR[],
    source_document VARCHAR NOT NULL,
    document_id     VARCHAR NOT NULL,
    evidence        JSON,
    origin          VARCHAR NOT NULL,
    generator_model VARCHAR NOT NULL,
    validator_model VARCHAR NOT NULL,
    attempt         INTEGER NOT NULL,
    fingerprint     VARCHAR NOT NULL,
    set_run_id      VARCHAR NOT NULL
);

-- Questions of earlier versions of documents that the current results do not keep. `text_before` and `text_now` have one text per quote.
CREATE TABLE retired_questions (
    question_id     VARCHAR NOT NULL,
    combination     VARCHAR NOT NULL,
    corpus          VARCHAR NOT NULL,
    scenario        VARCHAR NOT NULL,
    mode            VARCHAR NOT NULL,
    question        VARCHAR NOT NULL,
    answer          VARCHAR NOT NULL,
    question_type   VARCHAR,
    source_document VARCHAR NOT NULL,
    document_id     VARCHAR NOT NULL,
    evidence        JSON,
    reason          VARCHAR NOT NULL,
    detail          VARCHAR,
    text_before     VARCHAR[],
    text_now        VARCHAR[]
);

-- What reviewers decided about questions: the decision of each reviewer that counts.
CREATE TABLE decisions (
    combination     VARCHAR NOT NULL,
    corpus          VARCHAR NOT NULL,
    scenario        VARCHAR NOT NULL,
    mode            VARCHAR NOT NULL,
    question_id     VARCHAR NOT NULL,
    document_id     VARCHAR NOT NULL,
    question        VARCHAR NOT NULL,
    answer          VARCHAR NOT NULL,
    reviewer        VARCHAR NOT NULL,
    time            TIMESTAMP NOT NULL,
    action          VARCHAR NOT NULL,
    reason          VARCHAR,
    new_question    VARCHAR,
    new_answer      VARCHAR
);

-- The latest grade of every answer. `marked` says why an ungrounded answer is not in the published set; else it is NULL.
CREATE TABLE grades (
    question_id     VARCHAR NOT NULL,
    combination     VARCHAR NOT NULL,
    corpus          VARCHAR NOT NULL,
    scenario        VARCHAR NOT NULL,
    mode            VARCHAR NOT NULL,
    document_id     VARCHAR NOT NULL,
    document_grade  VARCHAR,
    question        VARCHAR NOT NULL,
    answer          VARCHAR NOT NULL,
    is_grounded     BOOLEAN,           -- NULL, like confidence: not measured
    confidence      DOUBLE,
    decided_by      VARCHAR,           -- code or judge; NULL: not measured
    method          VARCHAR NOT NULL,
    supported       INTEGER NOT NULL,  -- here and below: sentences of the answer
    contradicted    INTEGER NOT NULL,
    not_found       INTEGER NOT NULL,
    generic         INTEGER NOT NULL,
    not_measured    INTEGER NOT NULL,
    issues          VARCHAR[],
    llm_verdict     VARCHAR,
    llm_confidence  DOUBLE,
    llm_reason      VARCHAR,
    judge_model     VARCHAR,
    judge_failure   VARCHAR,
    marked          VARCHAR,
    run_id          VARCHAR NOT NULL   -- the run that graded
);

-- Every report of an evaluation, one row per metric. `latest`: no newer report of its kind exists.
CREATE TABLE evaluations (
    combination VARCHAR NOT NULL,
    corpus      VARCHAR NOT NULL,
    scenario    VARCHAR NOT NULL,
    mode        VARCHAR NOT NULL,
    kind        VARCHAR NOT NULL,  -- closed_book, retrieval, answers, labels or panel
    run_id      VARCHAR NOT NULL,
    created     TIMESTAMP NOT NULL,
    profile     VARCHAR NOT NULL,
    model       VARCHAR NOT NULL,
    judge_model VARCHAR,
    metric      VARCHAR NOT NULL,
    value       DOUBLE NOT NULL,
    latest      BOOLEAN NOT NULL
);

-- The latest answers of a model to published questions without their document.
CREATE TABLE closed_book (
    question_id VARCHAR NOT NULL,
    combination VARCHAR NOT NULL,
    corpus      VARCHAR NOT NULL,
    scenario    VARCHAR NOT NULL,
    mode        VARCHAR NOT NULL,
    document_id VARCHAR NOT NULL,
    question    VARCHAR NOT NULL,
    answer      VARCHAR NOT NULL,
    given       VARCHAR,
    leaked      BOOLEAN,           -- the given answer is right; NULL: undecided
    decided     VARCHAR,           -- unknown, match or model
    explanation VARCHAR,
    failure     VARCHAR,
    run_id      VARCHAR NOT NULL
);

-- The latest search ranks of each published question's document and evidence, one row per ranking.
CREATE TABLE retrievals (
    question_id    VARCHAR NOT NULL,
    combination    VARCHAR NOT NULL,
    corpus         VARCHAR NOT NULL,
    scenario       VARCHAR NOT NULL,
    mode           VARCHAR NOT NULL,
    document_id    VARCHAR NOT NULL,
    question       VARCHAR NOT NULL,
    ranking        VARCHAR NOT NULL,  -- bm25, embedding or fused
    document_place INTEGER,           -- among documents, 1-based; here and below NULL: not among the chunks searched
    evidence_place INTEGER,           -- of the first chunk that holds a quote
    evidence       INTEGER[],         -- the same for each quote
    failure        VARCHAR,
    run_id         VARCHAR NOT NULL
);

-- The passages that search finds for each question, and how well they answer it; one row per question and passage.
CREATE TABLE relevance_labels (
    question_id VARCHAR NOT NULL,
    combination VARCHAR NOT NULL,
    corpus      VARCHAR NOT NULL,
    scenario    VARCHAR NOT NULL,
    mode        VARCHAR NOT NULL,
    passage     VARCHAR NOT NULL,
    document_id VARCHAR NOT NULL,  -- of the passage
    start_line  INTEGER NOT NULL,
    end_line    INTEGER NOT NULL,
    place       INTEGER,
    grade       INTEGER,
    graded_by   VARCHAR,
    run_id      VARCHAR NOT NULL
);

-- What a panel of answerers says about each question.
CREATE TABLE panel_questions (
    question_id    VARCHAR NOT NULL,
    combination    VARCHAR NOT NULL,
    corpus         VARCHAR NOT NULL,
    scenario       VARCHAR NOT NULL,
    mode           VARCHAR NOT NULL,
    document_id    VARCHAR NOT NULL,
    question       VARCHAR NOT NULL,
    answer         VARCHAR NOT NULL,
    share_right    DOUBLE,
    discrimination DOUBLE,
    difficulty     DOUBLE,
    slope          DOUBLE,
    suspicion      DOUBLE,
    suspected      BOOLEAN,
    other          VARCHAR,
    leaked         BOOLEAN,
    failure        VARCHAR,
    run_id         VARCHAR NOT NULL
);

-- The latest answers to published questions that were found by search in their own document.
CREATE TABLE baseline_answers (
    question_id VARCHAR NOT NULL,
    combination VARCHAR NOT NULL,
    corpus      VARCHAR NOT NULL,
    scenario    VARCHAR NOT NULL,
    mode        VARCHAR NOT NULL,
    document_id VARCHAR NOT NULL,
    question    VARCHAR NOT NULL,
    answer      VARCHAR NOT NULL,
    given       VARCHAR,
    answerable  BOOLEAN,
    exact       BOOLEAN,           -- NULL, like f1: there was no answer to score
    f1          DOUBLE,
    is_grounded BOOLEAN,           -- NULL: not measured
    confidence  DOUBLE,            -- of the grade
    error       VARCHAR,
    failure     VARCHAR,
    run_id      VARCHAR NOT NULL
);

-- Every model call. A request is paid once, and `counted` marks the row that was paid: sum(usd) WHERE counted is what was
-- spent; sum(usd) is what the work would cost without any cache hit.
CREATE TABLE model_calls (
    combination      VARCHAR NOT NULL,
    corpus           VARCHAR NOT NULL,
    scenario         VARCHAR NOT NULL,
    mode             VARCHAR NOT NULL,
    stage            VARCHAR NOT NULL,
    document_id      VARCHAR NOT NULL,
    attempt          INTEGER NOT NULL,
    position         INTEGER NOT NULL,
    role             VARCHAR NOT NULL,
    model            VARCHAR NOT NULL,
    request_key      VARCHAR NOT NULL,
    run_id           VARCHAR NOT NULL,
    input_tokens     BIGINT NOT NULL,
    output_tokens    BIGINT NOT NULL,
    cached_tokens    BIGINT NOT NULL,
    reasoning_tokens BIGINT NOT NULL,
    cache_write_tokens BIGINT NOT NULL,
    usd              DOUBLE,
    seconds          DOUBLE,
    retries          INTEGER NOT NULL,
    replayed         BOOLEAN NOT NULL,
    unused           BOOLEAN NOT NULL,  -- made in advance for a step that was then not needed
    current          BOOLEAN NOT NULL,  -- belongs to a result that still counts
    counted          BOOLEAN NOT NULL
);

-- Every slot of an exam in its last run: the item, or why there is none.
CREATE TABLE exam_items (
    exam         VARCHAR NOT NULL,
    schema_id    VARCHAR NOT NULL,
    schema_title VARCHAR NOT NULL,
    difficulty   VARCHAR NOT NULL,
    slot         INTEGER NOT NULL,  -- from 1 within schema and difficulty
    outcome      VARCHAR NOT NULL,  -- accepted, rejected, repeated (a duplicate of an item in the bank) or budget_exhausted
    item_id      VARCHAR,           -- NULL: no item
    caught_by    VARCHAR,           -- here and in the next three columns NULL for accepted items
    failure_type VARCHAR,
    severity     VARCHAR,
    detail       VARCHAR,
    stem         VARCHAR,           -- here and below from the last attempt; NULL if that ended earlier
    options      MAP(VARCHAR, VARCHAR),
    key_option   VARCHAR,
    key_proof    VARCHAR,           -- proven, refuted, unproven or absent
    blind_option VARCHAR,           -- what the verifier chose without the key
    style_mean   DOUBLE,            -- of six scores from 0 to 10
    style_least  INTEGER,
    flaws        VARCHAR[],         -- criteria of item-writing flaws
    attempts     INTEGER NOT NULL,  -- how often the idea was implemented
    models       MAP(VARCHAR, VARCHAR) NOT NULL,
    fingerprint  VARCHAR NOT NULL,
    run_id       VARCHAR NOT NULL,
    finished     TIMESTAMP
);

-- Every implementation of an idea: which step rejected it and why; both are NULL if it passed or was not checked to the end.
CREATE TABLE exam_attempts (
    exam         VARCHAR NOT NULL,
    schema_id    VARCHAR NOT NULL,
    difficulty   VARCHAR NOT NULL,
    slot         INTEGER NOT NULL,
    attempt      INTEGER NOT NULL,
    caught_by    VARCHAR,
    failure_type VARCHAR,
    stem         VARCHAR,
    key_option   VARCHAR,
    key_proof    VARCHAR,
    blind_option VARCHAR,
    style_mean   DOUBLE,
    style_least  INTEGER
);

-- The statistics of items in every sitting of an exam. Letters are the bank's; intervals are 95 %.
CREATE TABLE exam_statistics (
    exam                VARCHAR NOT NULL,
    sitting_id          VARCHAR NOT NULL,
    paper               VARCHAR,           -- NULL: the file named items of the bank
    file                VARCHAR NOT NULL,
    read_on             DATE NOT NULL,
    item_id             VARCHAR NOT NULL,
    item_version        VARCHAR NOT NULL,
    key_option          VARCHAR NOT NULL,
    candidates          INTEGER NOT NULL,
    facility            DOUBLE NOT NULL,
    facility_low        DOUBLE NOT NULL,
    facility_high       DOUBLE NOT NULL,
    discrimination      DOUBLE,            -- NULL: it cannot be computed
    discrimination_low  DOUBLE,
    discrimination_high DOUBLE,
    upper_third         DOUBLE NOT NULL,
    lower_third         DOUBLE NOT NULL,
    chosen              MAP(VARCHAR, INTEGER) NOT NULL,
    dead_distractors    VARCHAR[] NOT NULL,
    suspected_key       VARCHAR,           -- NULL: the key seems right
    flags               VARCHAR[] NOT NULL,
    kr20                DOUBLE,            -- of the form; NULL: it cannot be computed
    kr20_low            DOUBLE,
    kr20_high           DOUBLE
);

-- Every model call for slots of exams. `counted` is as in model_calls; the `attempt` of a designer is the number of its design.
CREATE TABLE exam_calls (
    exam               VARCHAR NOT NULL,
    schema_id          VARCHAR NOT NULL,
    difficulty         VARCHAR NOT NULL,
    slot               INTEGER NOT NULL,
    attempt            INTEGER NOT NULL,
    position           INTEGER NOT NULL,
    role               VARCHAR NOT NULL,
    model              VARCHAR NOT NULL,
    request_key        VARCHAR NOT NULL,
    run_id             VARCHAR NOT NULL,
    input_tokens       BIGINT NOT NULL,
    output_tokens      BIGINT NOT NULL,
    cached_tokens      BIGINT NOT NULL,
    reasoning_tokens   BIGINT NOT NULL,
    cache_write_tokens BIGINT NOT NULL,
    usd                DOUBLE,
    seconds            DOUBLE,
    retries            INTEGER NOT NULL,
    replayed           BOOLEAN NOT NULL,
    unused             BOOLEAN NOT NULL,
    counted            BOOLEAN NOT NULL
);

-- Every problem of the banks of physics problems, including rejected problems.
CREATE TABLE problem_items (
    problem_set       VARCHAR NOT NULL,
    problem_id        VARCHAR NOT NULL,
    position          INTEGER NOT NULL,
    outcome           VARCHAR NOT NULL,
    detail            VARCHAR,
    source_path       VARCHAR NOT NULL,
    question_type     VARCHAR,           -- here and below NULL: not classified
    topic             VARCHAR,
    subtopic          VARCHAR,
    difficulty        VARCHAR,
    key_concepts      VARCHAR[],
    requires_calculus BOOLEAN,
    confidence        DOUBLE,
    latex             VARCHAR,
    tikz_code         VARCHAR,
    alternates        INTEGER NOT NULL,
    variants          MAP(VARCHAR, VARCHAR) NOT NULL,
    conversions       MAP(VARCHAR, VARCHAR) NOT NULL,
    breaches          VARCHAR[],
    flagged           BOOLEAN NOT NULL,
    compiled          VARCHAR,
    models            MAP(VARCHAR, VARCHAR) NOT NULL
);

-- Every result of a task of a problem.
CREATE TABLE problem_tasks (
    problem_set VARCHAR NOT NULL,
    problem_id  VARCHAR NOT NULL,
    task        VARCHAR NOT NULL,
    stage       VARCHAR NOT NULL,
    outcome     VARCHAR NOT NULL,
    detail      VARCHAR,
    breaches    VARCHAR[],
    repaired    VARCHAR[],
    warnings    VARCHAR[],
    compiled    VARCHAR,
    model       VARCHAR,
    prompt      VARCHAR,
    fingerprint VARCHAR NOT NULL,
    finished    TIMESTAMP,
    current     BOOLEAN NOT NULL
);

-- Every model call for tasks of problems.
CREATE TABLE problem_calls (
    problem_set        VARCHAR NOT NULL,
    problem_id         VARCHAR NOT NULL,
    task               VARCHAR NOT NULL,
    fingerprint        VARCHAR NOT NULL,
    position           INTEGER NOT NULL,
    role               VARCHAR NOT NULL,
    model              VARCHAR NOT NULL,
    request_key        VARCHAR NOT NULL,
    input_tokens       BIGINT NOT NULL,
    output_tokens      BIGINT NOT NULL,
    cached_tokens      BIGINT NOT NULL,
    reasoning_tokens   BIGINT NOT NULL,
    cache_write_tokens BIGINT NOT NULL,
    usd                DOUBLE,
    seconds            DOUBLE,
    retries            INTEGER NOT NULL,
    replayed           BOOLEAN NOT NULL,
    unused             BOOLEAN NOT NULL,
    current            BOOLEAN NOT NULL,
    counted            BOOLEAN NOT NULL
);
