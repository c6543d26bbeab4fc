-- a plan for a question of no corpus version could never be scored
select
    plan.corpus_version,
    plan.instance_id
from {{ ref('plan') }} as plan
anti join {{ source('lake', 'instances') }} as instances
    on plan.corpus_version = instances.corpus_version and plan.instance_id = instances.instance_id
