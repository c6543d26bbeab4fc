with questions as (
    select * from {{ ref('questions') }}
    where epoch not like 'canary-%'
),

counted as (
    select
        {{ scores_cell(['task', 'epoch']) }},
        count(*) as n_planned,
        count(*) filter (where status in {{ scores_unanswered() }}) as n_unanswered
    from questions
    group by all
),

compared as (
    select
        *,
        n_unanswered = 0
        and n_planned = max(n_planned) over (partition by {{ scores_cell(['task']) }}) as complete
    from counted
)

select
    *,
    row_number() over (
        partition by {{ scores_cell(['task']) }}
        order by
            complete desc,
            case when not complete then n_planned - n_unanswered end desc nulls last,
            try_cast(epoch as bigint) desc nulls last,
            epoch desc
    ) = 1 as scored
from compared
