with turns as (
    select * from {{ source('raw', 'turns') }}
),

samples as (
    select * from {{ source('raw', 'samples') }}
),

noted as (
    select
        corpus_version,
        sample_id,
        row_index::bigint as row_index,
        unnest([
            { 'field': 'utterance_type', 'text': utterance_type },
            { 'field': 'relation_cycle_state', 'text': relation_cycle_state },
            { 'field': 'relation_cycle_reason', 'text': relation_cycle_reason },
            { 'field': 'relation_pattern', 'text': relation_pattern },
            { 'field': 'relation_pattern_reason', 'text': relation_pattern_reason }
        ]
        || list_transform(
            coalesce(internal_emotion, []),
            lambda item: { 'field': 'internal_emotion', 'text': item.emotion_description }
        )
        || list_transform(
            coalesce(viewpoints_attitudes, []), lambda item: { 'field': 'viewpoint', 'text': item.viewpoint }
        )
        || list_transform(
            coalesce(viewpoints_attitudes, []), lambda item: { 'field': 'attitude', 'text': item.attitude }
        )
        || list_transform(
            coalesce(support_strategy, []), lambda item: { 'field': 'strategy_type', 'text': item.strategy_type }
        )
        || list_transform(
            coalesce(support_strategy, []), lambda item: { 'field': 'strategy_content', 'text': item.strategy_content }
        )) as note
    from turns
),

files as (
    select
        corpus_version,
        sample_id,
        null::bigint as row_index,
        { 'field': 'source_file', 'text': record_source_file } as note
    from samples
),

every_note as (
    select * from noted
    union all
    select * from files
)

select distinct
    corpus_version,
    sample_id,
    row_index,
    note.field,
    note.text
from every_note
where {{ has_text('note.text') }}
