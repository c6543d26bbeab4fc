with plan as (
    select * from {{ ref('plan') }}
),

responses as (
    select * from {{ ref('responses') }}
),

answers as (
    select * from {{ ref('answers') }}
),

instances as (
    select * from {{ source('lake', 'instances') }}
)

select
    plan.corpus_id,
    plan.corpus_version,
    plan.instance_id,
    plan.task,
    plan.task_version,
    plan.scenario,
    plan.model,
    plan.generation,
    plan.modality,
    plan.protocol,
    plan.epoch,
    plan.request_id,
    plan.template_sha256,
    instances.sample_id,
    instances.session_group,
    instances.row_index,
    instances.position,
    len(instances.candidates) as n_candidates,
    case
        when responses.request_id is null then 'not_run'
        when responses.status <> 'ok' then responses.status
        else coalesce(answers.status, 'not_run')
    end as status,
    responses.status as response_status,
    responses.truncated_in,
    responses.segment,
    responses.sent_at,
    answers.parser_version,
    coalesce(
        instances.gold ->> '$.should_speak',
        instances.gold ->> '$.relation_pattern',
        instances.gold ->> '$.strategy',
        case when plan.task = 'stp' then instances.gold ->> '$.target' end
    ) as gold_label,
    (instances.gold ->> '$.intensity')::double as gold_intensity,
    case plan.task
        when 'itp' then [answers.answer ->> '$.should_speak']
        when 'rpp' then answers.answer ->> '$.relation_top3[*]'
        when 'stp' then answers.answer ->> '$.target_top3[*]'
        when 'ssp' then answers.answer ->> '$.strategy_top3[*]'
    end as predicted_labels,
    (answers.answer ->> '$.intensity')::double as predicted_intensity
from plan
left join instances
    on
        plan.corpus_version = instances.corpus_version
        and plan.instance_id = instances.instance_id
left join responses on plan.request_id = responses.request_id
left join answers
    on
        plan.request_id = answers.request_id
        and plan.instance_id = answers.instance_id
        and plan.model = answers.model
        and plan.modality = answers.modality
        and plan.protocol = answers.protocol
        and plan.epoch = answers.epoch
