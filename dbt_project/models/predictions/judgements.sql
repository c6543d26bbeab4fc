{%- set columns = [
    'corpus_version', 'instance_id', 'task', 'model', 'generation', 'modality',
    'protocol', 'epoch', 'answer_request_id', 'request_id', 'judge',
    'judge_generation', 'judge_kind', 'judge_rank',
    'coalesce(same_vendor, false) as same_vendor', 'status', 'similarity', 'pairing', 'content',
    'reason'
] %}

{{ scores_lake_union('judgements', columns, judged_only=true) }}
