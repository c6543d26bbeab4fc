select
    corpus_id,
    corpus_version,
    protocol,
    modality,
    task,
    check_name,
    instance_id,
    place,
    found
from {{ source('lake', 'audit_findings') }}
