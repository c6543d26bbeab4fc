{%- set columns = [
    'run_id', 'model', 'task', 'protocol', 'modality', 'request_id', 'prompt_tokens', 'completion_tokens', 'cost_usd'
] %}
with estimates as (
    select * from {{ source('lake', 'estimates') }}
),

answering as (
    {{ scores_lake_union('responses', columns) }}
),

judging as (
    {{ scores_lake_union('judge_responses', columns, judged_only=true) }}
),

expected as (
    select
        run_id,
        model,
        purpose,
        task,
        protocol,
        modality,
        sum(requests)::bigint as requests,
        sum(prompt_tokens)::bigint as prompt_tokens,
        sum(completion_tokens)::bigint as completion_tokens,
        -- one unknown price makes the sum unknown
        case when count(*) = count(cost_usd) then sum(cost_usd) end as cost_usd,
        case when count(*) = count(most_usd) then sum(most_usd) end as most_usd
    from estimates
    group by all
),

journaled as (
    select
        *,
        'answer' as purpose
    from answering
    union all
    select
        *,
        'judge' as purpose
    from judging
),

reported as (
    select
        run_id,
        model,
        purpose,
        task,
        protocol,
        modality,
        count(distinct request_id) as requests,
        sum(prompt_tokens)::bigint as prompt_tokens,
        sum(completion_tokens)::bigint as completion_tokens,
        case when count(*) = count(cost_usd) then sum(cost_usd) end as cost_usd
    from journaled
    group by all
)

select
    expected.run_id,
    expected.model,
    expected.purpose,
    expected.task,
    expected.protocol,
    expected.modality,
    expected.requests as expected_requests,
    coalesce(reported.requests, 0) as requests,
    expected.prompt_tokens as expected_prompt_tokens,
    reported.prompt_tokens,
    expected.completion_tokens as expected_completion_tokens,
    reported.completion_tokens,
    expected.cost_usd as expected_cost_usd,
    expected.most_usd,
    reported.cost_usd,
    -- of one request, so that a run that was stopped can be compared too
    (reported.prompt_tokens / reported.requests)
    / nullif(expected.prompt_tokens / expected.requests, 0) as prompt_ratio,
    round((reported.cost_usd / reported.requests) / nullif(expected.cost_usd / expected.requests, 0), 6) as cost_ratio
from expected
left join reported
    on
        expected.run_id = reported.run_id
        and expected.model = reported.model
        and expected.purpose = reported.purpose
        and expected.task = reported.task
        and expected.protocol = reported.protocol
        and expected.modality = reported.modality
