{%- set columns = [
    'corpus_version', 'task', 'model', 'modality', 'protocol', 'scorer', 'reason', 'n_answers', 'n_cut'
] %}

{{ scores_lake_union('bertscore_runs', columns, judged_only=true) }}
