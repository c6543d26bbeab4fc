with questions as (
    select * from {{ ref('questions') }}
),

epochs as (
    select * from {{ ref('epochs') }}
),

sessions as (
    select * from {{ source('lake', 'sessions') }}
),

judges as (
    select
        {{ scores_cell(['epoch', 'instance_id', 'answer_request_id']) }},
        list_sort(list(judge)) as judges
    from {{ ref('judgements') }}
    group by all
)

select
    questions.corpus_id,
    {{ scores_cell(['task', 'epoch', 'instance_id', 'request_id'], 'questions') }},
    coalesce(epochs.scored, false) as scored,
    questions.status,
    questions.response_status,
    questions.segment,
    questions.sent_at,
    questions.parser_version,
    questions.template_sha256,
    judges.judges,
    sessions.source_path,
    sessions.source_line,
    sessions.source_sha256,
    sessions.record_sha256
from questions
left join epochs on {{ scores_same_cell('questions', 'epochs', ['task', 'epoch']) }}
left join judges
    on
        questions.request_id = judges.answer_request_id
        and {{ scores_same_cell('questions', 'judges', ['epoch', 'instance_id']) }}
left join sessions
    on questions.corpus_version = sessions.corpus_version and questions.sample_id = sessions.sample_id
