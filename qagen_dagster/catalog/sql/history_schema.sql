-- Tables of history: a later run adds rows and leaves the others as they are.

CREATE TABLE document_versions (
    corpus        VARCHAR NOT NULL,
    document_id   VARCHAR NOT NULL,
    version       VARCHAR NOT NULL,
    first_seen    TIMESTAMP,
    run_id        VARCHAR,
    removed_at    TIMESTAMP,
    current       BOOLEAN NOT NULL,
    source        VARCHAR,
    row_id        VARCHAR,
    format        VARCHAR,
    outcome       VARCHAR,
    source_sha256 VARCHAR,
    text_sha256   VARCHAR,
    parser        VARCHAR,
    line_count    BIGINT,
    char_count    BIGINT,
    page_count    INTEGER
);

CREATE TABLE runs (
    run_id       VARCHAR NOT NULL,
    "partition"  VARCHAR NOT NULL,
    combination  VARCHAR,
    corpus       VARCHAR,
    scenario     VARCHAR,
    mode         VARCHAR,
    job          VARCHAR,
    assets       VARCHAR[],
    collected    BOOLEAN NOT NULL,
    profile      VARCHAR,
    fingerprint  VARCHAR,
    models       MAP(VARCHAR, VARCHAR),
    prompts      MAP(VARCHAR, VARCHAR),
    target_count INTEGER,
    strategy     VARCHAR,
    corpus_name  VARCHAR,
    corpus_context VARCHAR,
    scenario_name VARCHAR,
    scenario_description VARCHAR,
    started      TIMESTAMP,
    ended        TIMESTAMP,
    status       VARCHAR,
    error        VARCHAR,
    set_version  INTEGER
);

CREATE TABLE run_results (
    run_id             VARCHAR NOT NULL,
    combination        VARCHAR NOT NULL,
    corpus             VARCHAR NOT NULL,
    scenario           VARCHAR NOT NULL,
    mode               VARCHAR NOT NULL,
    document_id        VARCHAR NOT NULL,
    document_version   VARCHAR NOT NULL,
    outcome            VARCHAR NOT NULL,
    detail             VARCHAR,
    accepted           INTEGER NOT NULL,
    rejected           INTEGER NOT NULL,
    validated          INTEGER,
    passed             INTEGER,
    rejected_by_reason MAP(VARCHAR, INTEGER),
    accepted_by_type   MAP(VARCHAR, INTEGER),
    reused             BOOLEAN,
    models             MAP(VARCHAR, VARCHAR),
    calls              INTEGER NOT NULL,
    replayed_calls     INTEGER NOT NULL,
    input_tokens       BIGINT NOT NULL,
    output_tokens      BIGINT NOT NULL,
    usd                DOUBLE,
    unknown_price_calls INTEGER NOT NULL,
    seconds            DOUBLE NOT NULL
);

CREATE TABLE checks (
    run_id       VARCHAR NOT NULL,
    "partition"  VARCHAR NOT NULL,
    asset        VARCHAR NOT NULL,
    check_name   VARCHAR NOT NULL,
    passed       BOOLEAN NOT NULL,
    severity     VARCHAR NOT NULL,
    evaluated_at TIMESTAMP NOT NULL,
    numbers      JSON NOT NULL
);

CREATE TABLE sets (
    combination VARCHAR NOT NULL,
    corpus      VARCHAR NOT NULL,
    scenario    VARCHAR NOT NULL,
    mode        VARCHAR NOT NULL,
    version     INTEGER NOT NULL,
    run_id      VARCHAR,
    published   TIMESTAMP NOT NULL,
    questions   INTEGER NOT NULL,
    current     BOOLEAN NOT NULL
);

CREATE TABLE set_questions (
    combination     VARCHAR NOT NULL,
    version         INTEGER NOT NULL,
    question_id     VARCHAR NOT NULL,
    question        VARCHAR NOT NULL,
    answer          VARCHAR NOT NULL,
    question_type   VARCHAR,
    source_document VARCHAR NOT NULL,
    document_id     VARCHAR,
    content_refs    VARCHAR[],
    evidence        JSON,
    generator_model VARCHAR NOT NULL,
    validator_model VARCHAR NOT NULL,
    attempt         INTEGER NOT NULL
);
