with turns as (
    select * from {{ ref('stg_turns') }}
),

sessions as (
    select * from {{ ref('stg_sessions') }}
),

label_sets as (
    select * from {{ ref('stg_label_sets') }}
    where kind = 'relation_pattern'
),

annotated as (
    select
        turns.*,
        sessions.scenario,
        case
            when sessions.scenario = 'family' and not sessions.has_cycle_state
                then turns.relation_pattern
            else turns.relation_cycle_state
        end as label
    from turns
    inner join sessions on turns.sample_id = sessions.sample_id
)

select
    annotated.corpus_version,
    annotated.sample_id,
    annotated.scenario,
    annotated.row_index,
    annotated.speaker,
    annotated.is_therapist,
    annotated.label,
    label_sets.labels as candidates,
    list_contains(label_sets.labels, annotated.label) as is_in_set
from annotated
inner join label_sets on annotated.scenario = label_sets.scenario
where annotated.label is not null
