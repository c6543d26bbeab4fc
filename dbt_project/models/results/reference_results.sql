with figures as (
    select * from {{ ref('paper_results') }}
),

corpus as (
    select * from {{ source('raw', 'corpus') }}
)

select
    corpus.corpus_id,
    corpus.corpus_version,
    figures.model,
    figures.scenario,
    figures.task,
    figures.metric,
    figures.value,
    figures.source,
    figures.place,
    figures.note,
    figures.comparable,
    figures.comparable_reason,
    coalesce(corpus.is_released, false) as shown_with_ours
from figures
left join corpus on true
