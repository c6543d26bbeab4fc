with items as (
    select * from {{ ref('items') }}
    where scored
),

counted as (
    select
        corpus_id,
        {{ scores_cell(['task', 'scenario', 'status']) }},
        count(*) as n,
        sum(case when status = 'truncated' then coalesce(truncated_in = 'reasoning', false)::int end)::bigint
            as n_cut_in_reasoning,
        sum(case when status = 'truncated' then coalesce(truncated_in = 'answer', false)::int end)::bigint
            as n_cut_in_answer
    from items
    group by all
)

select
    corpus_id,
    {{ scores_cell(['task', 'scenario', 'status']) }},
    n,
    (sum(n) over cells)::bigint as n_planned,
    n / sum(n) over cells as share,
    n_cut_in_reasoning,
    n_cut_in_answer,
    n_cut_in_reasoning / sum(n) over cells as share_cut_in_reasoning,
    n_cut_in_answer / sum(n) over cells as share_cut_in_answer
from counted
window cells as (partition by {{ scores_cell(['task', 'scenario']) }})
