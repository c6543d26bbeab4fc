with sessions as (
    select * from {{ ref('stg_sessions') }}
)

select
    corpus_version,
    sample_id,
    scenario,
    session_group,
    participants,
    n_turns,
    duration_seconds,
    source_path,
    source_line,
    source_sha256,
    record_sha256
from sessions
