with relation_labels as (
    select * from {{ ref('stg_relation_labels') }}
),

sessions as (
    select * from {{ ref('sessions') }}
)

select
    relation_labels.corpus_version,
    relation_labels.sample_id,
    relation_labels.scenario,
    sessions.session_group,
    relation_labels.row_index
from relation_labels
inner join sessions on relation_labels.sample_id = sessions.sample_id
where relation_labels.is_therapist and relation_labels.label = ''
