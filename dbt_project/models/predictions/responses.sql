{%- set columns = [
    'request_id', 'task', 'model', 'generation', 'modality', 'protocol', 'epoch',
    'status', 'final', 'content', 'finish_reason', 'error_type', 'error',
    'http_status', 'rung', 'parameters', 'attempts', 'prompt_tokens',
    'completion_tokens', 'reasoning_tokens', 'cached_tokens', 'cache_write_tokens', 'usage', 'cost_usd',
    'provider_model', 'system_fingerprint', 'counted_tokens', 'truncated_in',
    'run_id', 'sent_at', 'seconds', 'segment'
] %}

with journaled as (
    {{ scores_lake_union('responses', columns) }}
)

select *
from journaled
qualify
    row_number() over (
        partition by request_id
        order by final desc, sent_at desc, segment desc
    ) = 1
