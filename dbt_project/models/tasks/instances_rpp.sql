with relation_labels as (
    select * from {{ ref('stg_relation_labels') }}
)

select
    corpus_version,
    sample_id,
    row_index,
    speaker,
    json_object('relation_pattern', label)::varchar as gold,
    candidates
from relation_labels
where is_in_set
