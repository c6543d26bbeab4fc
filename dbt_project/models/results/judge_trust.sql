{%- set scales = {'similarity': (1, 5), 'pairing': (0, 2), 'content': (0, 4)} %}

with judged as (
    select * from {{ ref('judge_controls') }}
),

bertscores as (
    select * from {{ ref('bertscore_controls') }}
),

corpus_versions as (
    select * from {{ ref('corpus_versions') }}
),

grades as (
    {%- for grade, (lowest, highest) in scales.items() %}
    select
        corpus_version,
        judge as scorer,
        judge_kind as scorer_kind,
        judge_generation as generation,
        task,
        control,
        instance_id,
        first_request_id as answer,
        '{{ grade }}' as grade,
        {{ grade }}::double as value,
        {{ highest }}::double as highest,
        {{ lowest }}::double as lowest
    from judged
    {%- if grade != 'similarity' %}
    where task = 'vp'
    {%- endif %}
    union all by name
    {%- endfor %}
    select
        corpus_version,
        scorer,
        'bertscore' as scorer_kind,
        1 as generation,
        task,
        control,
        instance_id,
        pair_sha256 as answer,
        'f1' as grade,
        f1 as value,
        1.0 as highest,
        null::double as lowest
    from bertscores
),

-- a control is one answer judged once, a repeat one answer judged several times
answers as (
    select
        corpus_version,
        scorer,
        scorer_kind,
        generation,
        task,
        control,
        grade,
        count(value) = count(*) as is_graded,
        avg(value) as value,
        stddev_samp(value) as spread,
        min(value) = max(value) as is_identical,
        avg(value) = any_value(if(control = 'gold', highest, lowest)) as is_extreme
    from grades
    group by corpus_version, scorer, scorer_kind, generation, task, control, grade, instance_id, answer
)

select
    corpus_versions.corpus_id,
    answers.corpus_version,
    answers.scorer,
    answers.scorer_kind,
    answers.generation,
    answers.task,
    answers.control,
    answers.grade,
    count(*) filter (where answers.is_graded) as n,
    count(*) filter (where not answers.is_graded) as n_ungraded,
    avg(answers.value) filter (where answers.is_graded and answers.control <> 'repeat') as mean,
    stddev_samp(answers.value) filter (where answers.is_graded and answers.control <> 'repeat') as sd,
    avg(answers.is_extreme::int) filter (where answers.is_graded and answers.control <> 'repeat') as share_at_extreme,
    avg(answers.spread) filter (where answers.is_graded and answers.control = 'repeat') as mean_within_sd,
    avg(answers.is_identical::int) filter (where answers.is_graded and answers.control = 'repeat') as share_identical
from answers
left join corpus_versions on answers.corpus_version = corpus_versions.corpus_version
group by all
