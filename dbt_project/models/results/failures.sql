with items as (
    select * from {{ ref('items') }}
    where scored
),

counted as (
    select
        corpus_id,
        {{ scores_cell(['task', 'scenario', 'status']) }},
        count(*) as n
    from items
    group by all
)

select
    *,
    (sum(n) over cells)::bigint as n_planned,
    n / sum(n) over cells as share
from counted
window cells as (partition by {{ scores_cell(['task', 'scenario']) }})
