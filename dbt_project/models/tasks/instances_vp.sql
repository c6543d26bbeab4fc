with turns as (
    select * from {{ ref('stg_turns') }}
),

voiced as (
    select
        *,
        list_filter(
            viewpoints_attitudes,
            lambda item: item.source = speaker
            and {{ has_text('item.target') }} and {{ has_text('item.viewpoint') }}
        ) as viewpoints
    from turns
    where is_client
),

eligible as (
    select
        *,
        row_number() over (partition by sample_id order by row_index) - 1 as item,
        count(*) over (partition by sample_id) as n_items
    from voiced
    where len(viewpoints) > 0
)

select
    corpus_version,
    sample_id,
    row_index,
    speaker,
    json_object('viewpoints', viewpoints)::varchar as gold
from eligible
where {{ evenly_picked('item', 'n_items', 5, sole=0) }}
