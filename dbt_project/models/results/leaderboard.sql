{%- set figures = {
    'itp_precision': ('itp', 'none', 'precision'),
    'itp_recall': ('itp', 'none', 'recall'),
    'itp_f1': ('itp', 'none', 'f1'),
    'rpp_accuracy_paper_base': ('rpp', 'none', 'accuracy_paper_base'),
    'rpp_accuracy': ('rpp', 'none', 'accuracy'),
    'rpp_macro_f1': ('rpp', 'none', 'macro_f1'),
    'stp_recall_at_1': ('stp', 'none', 'recall_at_1'),
    'stp_recall_at_3': ('stp', 'none', 'recall_at_3'),
    'stp_mrr': ('stp', 'none', 'mrr'),
    'ssp_recall_at_1': ('ssp', 'none', 'recall_at_1'),
    'ssp_recall_at_3': ('ssp', 'none', 'recall_at_3'),
    'ssp_mrr': ('ssp', 'none', 'mrr'),
    'er_judge': ('er', 'llm', 'judge'),
    'er_intensity_match': ('er', 'none', 'intensity_match'),
    'er_score': ('er', 'llm', 'er_score'),
    'er_bertscore_f1': ('er', 'bertscore', 'bertscore_f1'),
    'vp_judge': ('vp', 'llm', 'judge'),
    'vp_judge_total': ('vp', 'llm', 'judge_total'),
    'vp_bertscore_f1': ('vp', 'bertscore', 'bertscore_f1'),
    'er_lexical_judge': ('er', 'lexical', 'judge'),
    'vp_lexical_judge': ('vp', 'lexical', 'judge'),
} %}
with items as (
    select
        *,
        unnest([scenario, 'both']) as shown_scenario
    from {{ ref('items') }}
    where scored
),

-- a question asked several times is one question: failed or open when any of its repeats is
asked as (
    select
        corpus_id,
        {{ scores_cell(['instance_id', 'shown_scenario']) }},
        bool_or(status not in ('ok', 'api_error', 'not_run')) as has_failed,
        bool_or(status in {{ scores_unanswered() }}) as is_open
    from items
    group by all
),

instances as (
    select
        corpus_version,
        unnest([scenario, 'both']) as scenario
    from {{ source('lake', 'instances') }}
),

metrics as (
    select * from {{ ref('leaderboard_long') }}
),

planned as (
    select
        corpus_id,
        {{ scores_cell() }},
        shown_scenario as scenario,
        count(*) as n_planned,
        count(*) filter (where has_failed) as n_failed,
        count(*) filter (where is_open) as n_unanswered
    from asked
    group by all
),

existing as (
    select
        corpus_version,
        scenario,
        count(*) as n_instances
    from instances
    group by all
),

ranks as (
    select
        judge as scorer,
        min(judge_rank) as judge_rank
    from {{ ref('judgements') }}
    group by all
),

-- of several judges a row shows one: the first of the model registry that graded all it should, else the first; never
-- one of the model's own vendor
judges as (
    select
        {{ scores_cell(relation='metrics') }},
        metrics.scorer_kind,
        metrics.scorer
    from metrics
    left join ranks on metrics.scorer = ranks.scorer
    where metrics.scenario = 'both' and metrics.scorer_kind in ('llm', 'lexical') and not metrics.same_vendor
    group by {{ scores_cell(['scorer_kind', 'scorer'], 'metrics') }}
    qualify
        row_number() over (
            partition by {{ scores_cell(['scorer_kind'], 'metrics') }}
            order by
                bool_and(metrics.complete) desc,
                count(distinct metrics.task) desc,
                min(ranks.judge_rank) asc nulls last,
                metrics.scorer asc
        ) = 1
),

vendors as (
    select
        {{ scores_cell() }},
        bool_and(same_vendor) as same_vendor
    from metrics
    where scorer_kind = 'llm'
    group by all
),

-- BERTScores of two configurations are two scales: the column holds one, the one that covers most of the corpus version
bertscorers as (
    select
        corpus_version,
        scorer
    from metrics
    where scenario = 'both' and scorer_kind = 'bertscore'
    group by corpus_version, scorer
    qualify row_number() over (partition by corpus_version order by count(*) desc, scorer asc) = 1
),

displayed as (
    select metrics.*
    from metrics
    left join judges
        on
            metrics.scorer = judges.scorer
            and {{ scores_same_cell('metrics', 'judges', ['scorer_kind']) }}
    left join bertscorers
        on
            metrics.scorer_kind = 'bertscore'
            and metrics.scorer = bertscorers.scorer
            and metrics.corpus_version = bertscorers.corpus_version
    where
        metrics.scorer_kind = 'none'
        or judges.scorer is not null
        or bertscorers.scorer is not null
),

pivoted as (
    select
        {{ scores_cell() }},
        scenario,
        {%- for name, (task, kind, metric) in figures.items() %}
        max(value) filter (
            where task = '{{ task }}' and scorer_kind = '{{ kind }}' and metric = '{{ metric }}'
        ) as {{ name }},
        {%- endfor %}
        max(scorer) filter (where scorer_kind = 'llm') as judge,
        max(scorer) filter (where scorer_kind = 'bertscore') as bertscore,
        bool_and(complete) filter (where scorer_kind in ('none', 'llm')) as displayed_complete
    from displayed
    group by all
)

select
    planned.corpus_id,
    {{ scores_cell(relation='planned') }},
    planned.scenario,
    {%- for name in figures %}
    pivoted.{{ name }},
    {%- endfor %}
    pivoted.judge,
    coalesce(vendors.same_vendor, false) as same_vendor,
    pivoted.bertscore,
    planned.n_planned,
    planned.n_failed,
    planned.n_unanswered,
    planned.n_planned = existing.n_instances
    and planned.n_unanswered = 0
    and coalesce(pivoted.displayed_complete, true) as complete
from planned
inner join existing
    on planned.corpus_version = existing.corpus_version and planned.scenario = existing.scenario
left join pivoted on {{ scores_same_cell('planned', 'pivoted', ['scenario']) }}
left join vendors on {{ scores_same_cell('planned', 'vendors') }}
