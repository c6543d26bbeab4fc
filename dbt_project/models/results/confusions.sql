with items as (
    select * from {{ ref('items') }}
    where scored and task in ('itp', 'rpp', 'ssp') and status not in {{ scores_unanswered() }}
)

select
    corpus_id,
    {{ scores_cell(['task', 'scenario']) }},
    gold_label,
    case when status = 'ok' then predicted_label end as predicted_label,
    count(*) as n
from items
group by all
