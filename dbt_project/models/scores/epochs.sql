-- an epoch is a repeat ("2") or a later try of one ("2.3": the third try of the second repeat)
with questions as (
    select
        *,
        try_cast(split_part(epoch, '.', 1) as bigint) as repeat_number,
        case when contains(epoch, '.') then try_cast(split_part(epoch, '.', 2) as bigint) else 1 end as try_number
    from {{ ref('questions') }}
    where epoch not like 'canary-%'
),

counted as (
    select
        {{ scores_cell(['task', 'epoch', 'repeat_number', 'try_number']) }},
        count(*) as n_planned,
        count(*) filter (where status in {{ scores_unanswered() }}) as n_unanswered
    from questions
    group by all
),

compared as (
    select
        *,
        n_unanswered = 0
        and n_planned = max(n_planned) over (partition by {{ scores_cell(['task', 'repeat_number']) }}) as complete
    from counted
)

select
    *,
    row_number() over (
        partition by {{ scores_cell(['task', 'repeat_number']) }}
        order by
            complete desc,
            case when not complete then n_planned - n_unanswered end desc nulls last,
            try_number desc
    ) = 1 as scored
from compared
