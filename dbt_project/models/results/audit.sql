select
    corpus_id,
    corpus_version,
    protocol,
    modality,
    task,
    check_name,
    blocking,
    declared,
    passed,
    n_requests,
    n_findings,
    score,
    chance,
    p_value,
    detail,
    audit_version
from {{ source('lake', 'audit') }}
