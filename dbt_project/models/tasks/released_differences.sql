-- gold is compared as typed values: key order, spacing or 7 against 7.0 make no difference
{% set viewpoint = '{"source": "VARCHAR", "target": "VARCHAR", "viewpoint": "VARCHAR", "attitude": "VARCHAR"}' %}
{% set typed = '{"emotion": "VARCHAR", "intensity": "DOUBLE", "viewpoints": [' ~ viewpoint ~ ']}' %}

with released as (
    select * from {{ source('raw', 'released_instances') }}
),

ours as (
    select * from {{ ref('instances') }}
    where task in (select released.task from released)
),

paired as (
    select
        coalesce(ours.task, released.task) as task,
        coalesce(ours.sample_id, released.sample_id) as sample_id,
        coalesce(ours.row_index, released.row_index) as row_index,
        coalesce(ours.scenario, released.scenario) as scenario,
        ours.gold,
        released.gold as released_gold
    from ours
    full join released
        on
            ours.task = released.task
            and ours.sample_id = released.sample_id
            and ours.row_index = released.row_index
)

select
    task,
    sample_id,
    row_index,
    scenario,
    case
        when released_gold is null then 'only_ours'
        when gold is null then 'only_released'
        else 'other_gold'
    end as difference,
    gold,
    released_gold
from paired
where from_json(gold, '{{ typed }}') is distinct from from_json(released_gold, '{{ typed }}')
