with samples as (
    select * from {{ source('raw', 'samples') }}
),

turns as (
    select * from {{ ref('stg_turns') }}
),

overrides as (
    select * from {{ source('raw', 'session_groups') }}
),

spans as (
    select
        sample_id,
        greatest(coalesce(max(end_time) - min(start_time), 0), 0) as duration_seconds,
        bool_or(has_cycle_state) as has_cycle_state
    from turns
    group by sample_id
),

named as (
    select
        *,
        string_split(sample_id, '/') as path,
        list_filter(participants, lambda person: person not in {{ special_names() }}) as clients,
        case scenario when 'couple' then 'Couple' when 'family' then 'Family' end as group_label
    from samples
)

select
    named.corpus_version,
    named.sample_id,
    named.scenario,
    coalesce(
        overrides.session_group,
        case named.scenario
            when 'couple' then array_to_string(list_sort(string_split(named.path[1], '_and_')), '_and_')
            when 'family' then array_to_string(named.path[1:2], '/')
        end
    ) as session_group,
    named.participants,
    named.group_label,
    list_append(named.clients, named.group_label) as target_candidates,
    spans.has_cycle_state,
    named.n_rows::bigint as n_turns,
    spans.duration_seconds,
    named.source_path,
    named.source_line,
    named.source_sha256,
    named.record_sha256
from named
inner join spans on named.sample_id = spans.sample_id
left join overrides on named.sample_id = overrides.sample_id
