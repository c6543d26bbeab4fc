with turns as (
    select * from {{ ref('stg_turns') }}
),

spoken as (
    select
        corpus_version,
        sample_id,
        row_index,
        speaker,
        is_therapist,
        lead(is_therapist) over (partition by sample_id order by row_index) as therapist_is_next
    from turns
),

decisions as (
    select
        *,
        case when therapist_is_next then 'yes' else 'no' end as should_speak
    from spoken
    where not is_therapist and therapist_is_next is not null
),

counted as (
    select
        *,
        row_number() over (partition by sample_id, should_speak order by row_index) - 1 as item,
        count(*) over (partition by sample_id, should_speak) as n_items,
        count(*) over (partition by sample_id) as n_decisions
    from decisions
)

select
    corpus_version,
    sample_id,
    row_index,
    speaker,
    json_object('should_speak', should_speak)::varchar as gold
from counted
where
    {{ evenly_picked(
        'item', 'n_items', 'least(n_items, n_decisions - n_items)', sole='n_items // 2'
    ) }}
