with turns as (
    select * from {{ source('raw', 'turns') }}
),

samples as (
    select * from {{ source('raw', 'samples') }}
)

select
    turns.corpus_version,
    turns.sample_id,
    turns.row_index::bigint as row_index,
    samples.n_rows::bigint as n_turns,
    turns.start_time,
    turns.end_time,
    turns.primary_speaker as speaker,
    coalesce(turns.primary_speaker = 'Therapist', false) as is_therapist,
    coalesce(turns.primary_speaker not in {{ special_names() }}, false) as is_client,
    coalesce(turns.target, []) as target,
    coalesce(turns.dialogue_cleaned, '') as dialogue,
    coalesce(turns.background_dialogue, []) as background_dialogue,
    turns.tone_of_voice,
    coalesce(turns.body_posture, []) as body_posture,
    coalesce(turns.facial_expressions, []) as facial_expressions,
    coalesce(turns.self_directed_behavior, []) as self_directed_behavior,
    coalesce(turns.interaction_behavior, []) as interaction_behavior,
    turns.internal_emotion,
    turns.viewpoints_attitudes,
    turns.support_strategy,
    trim(turns.relation_cycle_state) as relation_cycle_state,
    trim(turns.relation_pattern) as relation_pattern,
    coalesce(list_contains(turns.present_keys, 'relation_cycle_state'), false) as has_cycle_state
from turns
inner join samples on turns.sample_id = samples.sample_id
