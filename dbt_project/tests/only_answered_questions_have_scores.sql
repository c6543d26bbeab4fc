-- a failure scores as wrong, an unanswered question has no score: neither may turn into the other
select
    instance_id,
    task,
    status
from {{ ref('items') }}
where
    task != 'vp'
    and (coalesce(correct::int, intensity_match) is null) != (status in {{ scores_unanswered() }})
