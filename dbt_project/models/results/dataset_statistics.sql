with versions as (
    select * from {{ ref('corpus_versions') }}
),

sessions as (
    select
        *,
        unnest([scenario, 'both']) as shown_scenario
    from {{ source('lake', 'sessions') }}
),

turns as (
    select * from {{ source('lake', 'turns') }}
),

paper as (
    select * from {{ ref('paper_dataset_statistics') }}
),

spoken as (
    select
        corpus_version,
        sample_id,
        count(*) filter (where speaker = 'Therapist') as n_therapist_turns,
        -- the therapist is a speaker; a whole couple or family speaking as one is none
        count(distinct speaker) filter (where speaker not in ('Couple', 'Family')) as n_speakers
    from turns
    group by all
),

described as (
    select
        sessions.corpus_version,
        sessions.shown_scenario as scenario,
        count(*)::double as samples,
        sum(sessions.duration_seconds) / 60 as duration_minutes,
        sum(sessions.n_turns)::double as turns,
        avg(sessions.duration_seconds) / 60 as mean_duration_minutes,
        avg(sessions.n_turns) as mean_turns,
        avg(spoken.n_speakers) as mean_speakers,
        100.0 * sum(spoken.n_therapist_turns) / sum(sessions.n_turns) as therapist_turn_share_percent
    from sessions
    left join spoken
        on sessions.corpus_version = spoken.corpus_version and sessions.sample_id = spoken.sample_id
    group by all
),

statistics as (
    unpivot described
    on columns(* exclude (corpus_version, scenario))
    into name statistic value value
)

select
    versions.corpus_id,
    versions.corpus_version,
    paper.statistic,
    paper.scenario,
    statistics.value,
    paper.value as paper_value,
    {{ scores_beside_paper('versions', 'paper') }}
from versions
cross join paper
left join statistics
    on
        versions.corpus_version = statistics.corpus_version
        and paper.statistic = statistics.statistic
        and paper.scenario = statistics.scenario
