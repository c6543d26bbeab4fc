with metrics as (
    select * from {{ source('lake', 'metrics') }}
),

corpus as (
    select * from {{ source('raw', 'corpus') }}
),

-- whether the paper has a figure for a metric, and whether ours may stand beside it, is the same for all its models
figures as (
    select distinct
        scenario,
        task,
        metric,
        comparable,
        comparable_reason
    from {{ ref('paper_results') }}
),

vendors as (
    select
        {{ scores_cell(['scorer']) }},
        bool_or(same_vendor) as same_vendor
    from {{ ref('gradings') }}
    group by all
),

compared as (
    select
        metrics.*,
        coalesce(vendors.same_vendor, false) as same_vendor,
        figures.comparable as figure_comparable,
        case
            when figures.comparable = 'no' then figures.comparable_reason
            when metrics.scorer_kind = 'lexical' then 'the lexical judge counts words; the paper asked a language model'
            when not coalesce(corpus.is_released, false)
                then 'other data: the published figures were measured on the released corpus'
            when not metrics.complete then 'incomplete: not every question is planned, answered and graded'
            when metrics.scorer_kind = 'bertscore' and not contains(metrics.scorer, 'distilbert-base-uncased')
                then 'another BERTScore backbone than distilbert-base-uncased'
        end as obstacle,
        figures.comparable_reason as reservation
    from metrics
    left join corpus on metrics.corpus_version = corpus.corpus_version
    left join vendors on {{ scores_same_cell('metrics', 'vendors', ['scorer']) }}
    left join figures
        on
            metrics.scenario = figures.scenario
            and metrics.task = figures.task
            and metrics.metric = figures.metric
)

select
    corpus_id,
    corpus_version,
    model,
    generation,
    modality,
    protocol,
    scorer,
    scorer_kind,
    scenario,
    task,
    task_version,
    metric,
    value,
    ci_low,
    ci_high,
    bound_low,
    bound_high,
    n,
    n_planned,
    n_instances,
    n_repeats,
    n_groups,
    n_failed,
    n_unanswered,
    value_without_failures,
    chance,
    complete,
    same_vendor,
    case when obstacle is null or figure_comparable is null then figure_comparable else 'no' end as comparable,
    case when figure_comparable is not null then coalesce(obstacle, reservation) end as comparable_reason
from compared
