select
    task,
    sample_id,
    count(*) as n_instances
from {{ ref('instances') }}
where task in ('er', 'vp')
group by task, sample_id
having n_instances > 5
