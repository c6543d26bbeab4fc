with items as (
    select * from {{ ref('items') }}
    where scored
),

gradings as (
    select * from {{ ref('gradings') }}
    where scored
),

scores as (
    select
        corpus_id,
        {{ scores_cell(['task', 'scenario', 'instance_id']) }},
        'none' as scorer,
        -- a failure is an answer of its own kind
        case
            when task in ('itp', 'rpp', 'stp', 'ssp') then coalesce(if(status = 'ok', predicted_label, null), 'failed')
            when task = 'er' then coalesce(predicted_intensity::varchar, 'failed')
        end as said,
        count(*) over (partition by {{ scores_cell(['instance_id']) }}) as n_asked,
        case when task in ('itp', 'rpp') then correct::int end::double as accuracy,
        case when task in ('stp', 'ssp') then correct::int end::double as recall_at_1,
        reciprocal_rank as mrr,
        intensity_match
    from items
),

grades as (
    select
        corpus_id,
        {{ scores_cell(['task', 'scenario', 'instance_id']) }},
        scorer,
        null::varchar as said,  -- free text is not compared
        count(*) over (partition by {{ scores_cell(['instance_id', 'scorer']) }}) as n_asked,
        judge,
        pairing,
        content,
        judge_total,
        er_score,
        bertscore_f1
    from gradings
),

item_scores as (
    unpivot scores
    on accuracy, recall_at_1, mrr, intensity_match
    into name metric value score
),

item_grades as (
    unpivot grades
    on judge, pairing, content, judge_total, er_score, bertscore_f1
    into name metric value score
),

answers as (
    select * from item_scores
    union all by name
    select * from item_grades
),

repeated as (
    select
        corpus_id,
        {{ scores_cell(['task', 'scenario', 'instance_id', 'scorer', 'metric']) }},
        max(n_asked) as n_asked,
        count(*) as n_scored,
        stddev_samp(score) as deviation,
        if(count(said) = 0, null, (count(distinct said) > 1)::int) as differs
    from answers
    group by all
),

-- an item is compared with itself when each repeat has its score
settled as (
    select
        *,
        unnest([scenario, 'both']) as shown_scenario
    from repeated
    qualify
        n_scored > 1
        and n_scored = max(n_asked) over (partition by {{ scores_cell(['task', 'scorer', 'metric']) }})
)

select
    corpus_id,
    {{ scores_cell(['task']) }},
    shown_scenario as scenario,
    scorer,
    metric,
    avg(deviation) as mean_deviation,
    avg(differs) as share_differing,
    count(*) as n,
    max(n_asked) as n_repeats
from settled
group by all
