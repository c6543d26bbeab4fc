with turns as (
    select * from {{ ref('stg_turns') }}
)

select
    corpus_version,
    sample_id,
    row_index,
    start_time,
    end_time,
    speaker,
    target,
    dialogue,
    background_dialogue,
    tone_of_voice,
    body_posture,
    facial_expressions,
    self_directed_behavior,
    interaction_behavior
from turns
