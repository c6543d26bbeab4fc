-- a question whose gold cannot be chosen would be wrong for every model
select
    instance_id,
    candidates
from {{ ref('instances') }}
where
    task in ('rpp', 'stp', 'ssp')
    and not coalesce(
        list_contains(
            candidates,
            case task
                when 'rpp' then gold ->> '$.relation_pattern'
                when 'stp' then gold ->> '$.target'
                when 'ssp' then gold ->> '$.strategy'
            end
        ),
        false
    )
