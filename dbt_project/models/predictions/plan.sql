select
    corpus_id,
    corpus_version,
    instance_id,
    task,
    task_version,
    scenario,
    model,
    generation,
    modality,
    protocol,
    epoch,
    request_id,
    template_sha256
from {{ source('lake', 'plan') }}
