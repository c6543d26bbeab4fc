{%- set columns = [
    'instance_id', 'task', 'model', 'generation', 'modality', 'protocol', 'epoch',
    'request_id', 'status', 'answer', 'reason', 'flags', 'parser_version'
] %}

with parsed as (
    {{ scores_lake_union('answers', columns) }}
)

-- where a request recurs in a later corpus version, the lake holds its answer once per version
select *
from parsed
qualify
    row_number() over (
        partition by request_id, instance_id, model, modality, protocol, epoch
        order by try_cast(parser_version as bigint) desc nulls last, parser_version desc
    ) = 1
