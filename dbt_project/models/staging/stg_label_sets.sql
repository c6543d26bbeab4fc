with labels as (
    select * from {{ source('raw', 'labels') }}
)

select
    scenario,
    kind,
    list(label order by position) as labels
from labels
group by scenario, kind
