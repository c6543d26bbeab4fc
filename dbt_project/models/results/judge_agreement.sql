{%- set grades = ['similarity', 'pairing', 'content'] %}

with judgements as (
    select * from {{ ref('judgements') }}
    where status = 'ok'
),

corpus_versions as (
    select * from {{ ref('corpus_versions') }}
),

graded as (
    {%- for grade in grades %}
    select
        {{ scores_cell(['task', 'epoch', 'instance_id', 'answer_request_id', 'judge', 'judge_kind']) }},
        '{{ grade }}' as grade,
        {{ grade }} as value
    from judgements
    where {{ grade }} is not null
    {%- if not loop.last %}
    union all
    {%- endif %}
    {%- endfor %}
),

pairs as (
    select
        one.corpus_version,
        one.task,
        one.grade,
        one.judge,
        another.judge as other_judge,
        one.value,
        another.value as other_value,
        abs(one.value - another.value) as distance,
        'lexical' in (one.judge_kind, another.judge_kind) as counts_words
    from graded as one
    inner join graded as another
        on
            one.judge < another.judge
            and {{ scores_same_cell('one', 'another', ['task', 'epoch', 'instance_id', 'answer_request_id', 'grade']) }}
),

measured as (
    select
        corpus_version,
        task,
        grade,
        judge,
        other_judge,
        count(*) as n,
        avg((distance = 0)::int) as share_exact,
        avg((distance = 1)::int) as share_off_by_one,
        avg(distance) as mean_absolute_difference,
        avg(distance ** 2) as observed,
        -- the mean squared distance of grades drawn from each judge's own distribution
        var_pop(value) + var_pop(other_value) + (avg(value) - avg(other_value)) ** 2 as expected,
        bool_or(counts_words) as counts_words
    from pairs
    group by all
)

select
    corpus_versions.corpus_id,
    measured.corpus_version,
    measured.task,
    measured.grade,
    measured.judge,
    measured.other_judge,
    measured.n,
    measured.share_exact,
    measured.share_off_by_one,
    measured.mean_absolute_difference,
    case when measured.expected > 0 then 1 - measured.observed / measured.expected end as quadratic_kappa,
    'no' as comparable,
    if(
        measured.counts_words,
        'the lexical judge counts words: agreement with it says nothing about a language model as a judge',
        'two judges of ours; the paper compares its judge with human raters on other answers'
    ) as comparable_reason
from measured
left join corpus_versions on measured.corpus_version = corpus_versions.corpus_version
