{%- set columns = [
    'corpus_version', 'task', 'control', 'instance_id', 'first_request_id', 'repeat', 'request_id', 'judge',
    'judge_generation', 'judge_kind', 'status', 'similarity', 'pairing', 'content', 'reason'
] %}

with controls as (
    {{ scores_lake_union('judge_controls', columns, judged_only=true) }}
)

-- an answer that two models gave alike is one answer, whichever partition's file holds its repeats
select *
from controls
qualify
    row_number() over (
        partition by corpus_version, control, judge, judge_generation, instance_id, first_request_id, repeat
        order by status = 'ok' desc, request_id asc
    ) = 1
