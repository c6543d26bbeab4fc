with supports as (
    select * from {{ ref('stg_support_turns') }}
)

select
    corpus_version,
    sample_id,
    row_index,
    speaker,
    json_object('target', named_target)::varchar as gold,
    target_candidates as candidates
from supports
where is_target_a_candidate
