with versions as (
    select * from {{ ref('corpus_versions') }}
),

instances as (
    select * from {{ source('lake', 'instances') }}
    where task in ('itp', 'rpp', 'stp', 'ssp')
),

labelled as (
    select
        corpus_version,
        task,
        scenario,
        case task
            when 'itp' then gold ->> '$.should_speak'
            when 'rpp' then gold ->> '$.relation_pattern'
            when 'ssp' then gold ->> '$.strategy'
            -- a name means nothing beyond its session
            else if(gold ->> '$.target' in ('Couple', 'Family'), 'group', 'person')
        end as label
    from instances
),

label_sets as (
    select distinct
        corpus_version,
        task,
        scenario,
        unnest(case task
            when 'itp' then ['yes', 'no']
            when 'stp' then ['person', 'group']
            else candidates
        end) as label
    from instances
),

counted as (
    select
        corpus_version,
        task,
        scenario,
        label,
        count(*) as n
    from labelled
    group by all
)

select
    versions.corpus_id,
    versions.corpus_version,
    label_sets.task,
    label_sets.scenario,
    label_sets.label,
    coalesce(counted.n, 0) as n,
    coalesce(counted.n, 0) / sum(counted.n) over (
        partition by versions.corpus_version, label_sets.task, label_sets.scenario
    ) as share
from label_sets
inner join versions on label_sets.corpus_version = versions.corpus_version
left join counted
    on
        label_sets.corpus_version = counted.corpus_version
        and label_sets.task = counted.task
        and label_sets.scenario = counted.scenario
        and label_sets.label = counted.label
