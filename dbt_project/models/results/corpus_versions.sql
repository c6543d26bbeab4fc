with sessions as (
    select * from {{ source('lake', 'sessions') }}
),

corpus as (
    select * from {{ source('raw', 'corpus') }}
)

select
    corpus.corpus_id,  -- a data directory holds the versions of one corpus
    sessions.corpus_version,
    count(*) as n_sessions,
    coalesce(bool_or(corpus.corpus_version = sessions.corpus_version), false) as is_loaded,
    coalesce(bool_or(corpus.corpus_version = sessions.corpus_version and corpus.is_released), false) as is_released
from sessions
left join corpus on true
group by all
