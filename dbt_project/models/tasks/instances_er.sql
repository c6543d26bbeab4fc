with turns as (
    select * from {{ ref('stg_turns') }}
),

felt as (
    select
        *,
        list_filter(internal_emotion, lambda item: item.person = speaker)[1] as emotion
    from turns
    where
        is_client
        and row_index > least(n_turns - 1, ceil(0.3 * n_turns))
        and len(regexp_extract_all(dialogue, '[A-Za-z0-9'']+')) >= 5
),

eligible as (
    select
        *,
        row_number() over (partition by sample_id order by row_index) - 1 as item,
        count(*) over (partition by sample_id) as n_items
    from felt
    where
        {{ has_text('emotion.emotion_description') }}
        and round_even(emotion.intensity, 0) between 0 and 10
)

select
    corpus_version,
    sample_id,
    row_index,
    speaker,
    json_object(
        'emotion', emotion.emotion_description,
        'intensity', round_even(emotion.intensity, 0)::bigint
    )::varchar as gold
from eligible
where {{ evenly_picked('item', 'n_items', 5, sole=0) }}
