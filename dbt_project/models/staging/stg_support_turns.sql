with turns as (
    select * from {{ ref('stg_turns') }}
),

sessions as (
    select * from {{ ref('stg_sessions') }}
),

label_sets as (
    select * from {{ ref('stg_label_sets') }}
    where kind = 'support_strategy'
),

supports as (
    select
        *,
        trim(support_strategy[1].strategy_type) as strategy,
        {{ helped_names('support_strategy[1].target') }} as own_names,
        {{ helped_names('target') }} as turn_names
    from turns
    where is_therapist and {{ has_text('support_strategy[1].strategy_type') }}
),

addressed as (
    select
        *,
        case when len(own_names) > 0 then own_names else turn_names end as names
    from supports
),

resolved as (
    select
        addressed.*,
        sessions.scenario,
        sessions.target_candidates,
        case len(addressed.names)
            when 0 then null
            when 1 then addressed.names[1]
            else sessions.group_label
        end as named_target
    from addressed
    inner join sessions on addressed.sample_id = sessions.sample_id
)

select
    resolved.corpus_version,
    resolved.sample_id,
    resolved.scenario,
    resolved.row_index,
    resolved.speaker,
    resolved.strategy,
    label_sets.labels as strategy_candidates,
    list_contains(label_sets.labels, resolved.strategy) as is_strategy_in_set,
    resolved.named_target,
    resolved.target_candidates,
    coalesce(list_contains(resolved.target_candidates, resolved.named_target), false) as is_target_a_candidate
from resolved
inner join label_sets on resolved.scenario = label_sets.scenario
