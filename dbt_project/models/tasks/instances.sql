with sessions as (
    select * from {{ ref('sessions') }}
),

questions as (
    {% for task in ['er', 'vp', 'rpp', 'itp', 'stp', 'ssp'] %}
    select
        '{{ task }}' as task,
        *
    from {{ ref('instances_' ~ task) }}
    {% if not loop.last %}union all by name{% endif %}
    {% endfor %}
)

select
    questions.corpus_version,
    concat_ws(':', questions.task, questions.sample_id, questions.row_index) as instance_id,
    questions.task,
    sessions.scenario,
    questions.sample_id,
    sessions.session_group,
    questions.row_index,
    case when sessions.n_turns > 1 then (questions.row_index - 1) / (sessions.n_turns - 1) else 0 end as position,
    questions.speaker,
    questions.gold,
    questions.candidates,
    questions.support_target
from questions
inner join sessions on questions.sample_id = sessions.sample_id
