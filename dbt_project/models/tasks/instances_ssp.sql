with supports as (
    select * from {{ ref('stg_support_turns') }}
)

select
    corpus_version,
    sample_id,
    row_index,
    speaker,
    json_object('strategy', strategy, 'target', named_target)::varchar as gold,
    strategy_candidates as candidates,
    named_target as support_target
from supports
where is_target_a_candidate and is_strategy_in_set
