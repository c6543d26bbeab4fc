{%- set columns = [
    'corpus_version', 'instance_id', 'task', 'model', 'generation', 'modality',
    'protocol', 'epoch', 'answer_request_id', 'scorer', 'f1', 'is_cut'
] %}

{{ scores_lake_union('bertscores', columns, judged_only=true) }}
