select
    sample_id,
    count_if(gold ->> '$.should_speak' = 'yes') as n_yes,
    count_if(gold ->> '$.should_speak' = 'no') as n_no
from {{ ref('instances') }}
where task = 'itp'
group by sample_id
having n_yes != n_no
