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
    template_sha256,
    -- plans of releases without this column asked every question in its own epoch
    coalesce(asked_in, epoch) as asked_in
from {{ source('lake', 'plan') }}
