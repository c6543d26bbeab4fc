with relation_labels as (
    select * from {{ ref('stg_relation_labels') }}
),

supports as (
    select * from {{ ref('stg_support_turns') }}
),

outside as (
    select
        corpus_version,
        scenario,
        'relation_pattern' as kind,
        label
    from relation_labels
    where label != '' and not is_in_set
    union all
    select
        corpus_version,
        scenario,
        'support_strategy' as kind,
        strategy as label
    from supports
    where not is_strategy_in_set
    union all
    select
        corpus_version,
        scenario,
        'support_target' as kind,
        named_target as label
    from supports
    where named_target is not null and not is_target_a_candidate
)

select
    corpus_version,
    scenario,
    kind,
    label,
    count(*) as n_turns
from outside
group by all
