{%- set columns = [
    'instance_id', 'task', 'model', 'generation', 'modality', 'protocol', 'epoch',
    'request_id', 'status', 'answer', 'reason', 'flags', 'parser_version'
] %}

{{ scores_lake_union('answers', columns) }}
