{%- set columns = ['corpus_version', 'task', 'control', 'instance_id', 'scorer', 'pair_sha256', 'f1', 'is_cut'] %}

{{ scores_lake_union('bertscore_controls', columns, judged_only=true) }}
