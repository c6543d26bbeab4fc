{%- set columns = [
    'request_id', 'model', 'generation', 'modality', 'protocol', 'task', 'final', 'attempts', 'prompt_tokens',
    'completion_tokens', 'reasoning_tokens', 'cached_tokens', 'cache_write_tokens', 'cost_usd', 'seconds', 'sent_at'
] %}
-- every journaled response, not the last of each request: what failed was paid for too
with answering as (
    {{ scores_lake_union('responses', columns) }}
),

judging as (
    {{ scores_lake_union('judge_responses', columns, judged_only=true) }}
),

corpus as (
    select * from {{ source('raw', 'corpus') }}
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
)

select
    corpus.corpus_id,
    corpus.corpus_version,
    journaled.model,
    journaled.generation,
    journaled.modality,
    journaled.protocol,
    journaled.task,
    journaled.purpose,
    count(distinct journaled.request_id) as requests,
    count(distinct journaled.request_id) filter (where journaled.final) as finals,
    sum(journaled.attempts)::bigint as attempts,
    sum(journaled.prompt_tokens)::bigint as prompt_tokens,
    sum(journaled.completion_tokens)::bigint as completion_tokens,
    sum(journaled.reasoning_tokens)::bigint as reasoning_tokens,
    sum(journaled.cached_tokens)::bigint as cached_tokens,
    sum(journaled.cache_write_tokens)::bigint as cache_write_tokens,
    -- one unknown price makes the sum unknown
    case
        when count(*) filter (where journaled.final and journaled.cost_usd is null) = 0
            then sum(journaled.cost_usd)
    end as cost_usd,
    sum(journaled.seconds) as seconds_total,
    min(journaled.sent_at) as first_sent_at,
    max(journaled.sent_at) as last_sent_at
from journaled
left join corpus on true
group by all
