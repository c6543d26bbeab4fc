with versions as (
    select * from {{ ref('corpus_versions') }}
),

instances as (
    select * from {{ source('lake', 'instances') }}
),

paper as (
    select * from {{ ref('paper_task_instances') }}
),

counted as (
    select
        corpus_version,
        task,
        scenario,
        count(*) as n_instances,
        count(distinct sample_id) as n_samples
    from instances
    group by all
)

select
    versions.corpus_id,
    versions.corpus_version,
    paper.task,
    paper.scenario,
    coalesce(counted.n_instances, 0) as n_instances,
    coalesce(counted.n_samples, 0) as n_samples,
    paper.n_instances as paper_instances,
    paper.n_samples as paper_samples,
    {{ scores_beside_paper('versions', 'paper') }}
from versions
cross join paper
left join counted
    on
        versions.corpus_version = counted.corpus_version
        and paper.task = counted.task
        and paper.scenario = counted.scenario
