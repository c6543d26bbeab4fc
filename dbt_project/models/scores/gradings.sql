with items as (
    select
        *,
        -- repeats that are scored together are graded by the same scorers; every other epoch stands for itself
        if(scored, 'scored', epoch) as sitting
    from {{ ref('items') }}
    where task in ('er', 'vp')
),

sittings as (
    select distinct {{ scores_cell(['task', 'epoch', 'sitting']) }} from items
),

judgements as (
    select
        *,
        judge as scorer,
        judge_kind as scorer_kind
    from {{ ref('judgements') }}
),

bertscores as (
    select
        *,
        'bertscore' as scorer_kind,
        'ok' as status
    from {{ ref('bertscores') }}
),

grades as (
    select * exclude (request_id) from judgements
    union all by name
    select * from bertscores
),

-- nobody is asked to grade a cell whose every answer failed: all scorers of its task apply, each with its minimum
ungradable as (
    select {{ scores_cell(['task', 'sitting']) }}
    from items
    group by all
    having count(*) filter (where status = 'ok') = 0
),

scorers as (
    select
        {{ scores_cell(['task', 'sitting'], 'sittings') }},
        grades.scorer,
        grades.scorer_kind
    from grades
    inner join sittings on {{ scores_same_cell('grades', 'sittings', ['task', 'epoch']) }}
    union
    select
        {{ scores_cell(['task', 'sitting'], 'ungradable') }},
        grades.scorer,
        grades.scorer_kind
    from ungradable
    inner join grades
        on ungradable.corpus_version = grades.corpus_version and ungradable.task = grades.task
),

expected as (
    select
        items.*,
        scorers.scorer,
        scorers.scorer_kind,
        items.status not in ('ok', 'api_error', 'not_run') as is_failed,
        items.task = 'vp' and scorers.scorer_kind <> 'bertscore' as in_parts,
        scorers.scorer_kind <> 'bertscore' as is_judged
    from items
    inner join scorers on {{ scores_same_cell('items', 'scorers', ['task', 'sitting']) }}
),

graded as (
    select
        expected.*,
        case
            when expected.is_failed then 'ok'  -- settled without a grader: the scale's minimum
            when expected.status = 'ok' then coalesce(grades.status, 'not_run')
            else 'not_run'
        end as grading_status,
        case
            when not expected.is_judged then null
            when expected.is_failed then 1
            when grades.status = 'ok' then grades.similarity
        end::double as judge,
        case
            when not expected.in_parts then null
            when expected.is_failed then 0
            when grades.status = 'ok' then grades.pairing
        end::double as pairing,
        case
            when not expected.in_parts then null
            when expected.is_failed then 0
            when grades.status = 'ok' then grades.content
        end::double as content,
        case
            when expected.is_judged then null
            when expected.is_failed then 0
            else grades.f1
        end::double as bertscore_f1,
        coalesce(
            bool_or(grades.same_vendor) over (partition by {{ scores_cell(['scorer'], 'expected') }}), false
        ) as same_vendor
    from expected
    left join grades
        on
            expected.status = 'ok'
            and expected.request_id = grades.answer_request_id
            and {{ scores_same_cell('expected', 'grades', ['task', 'epoch', 'instance_id', 'scorer', 'scorer_kind']) }}
)

select
    corpus_id,
    corpus_version,
    model,
    generation,
    modality,
    protocol,
    task,
    task_version,
    instance_id,
    epoch,
    scenario,
    session_group,
    status,
    scorer,
    scorer_kind,
    grading_status,
    judge,
    pairing,
    content,
    pairing + content as judge_total,
    intensity_match,
    (judge + intensity_match) / 2 as er_score,
    bertscore_f1,
    same_vendor,
    scored
from graded
