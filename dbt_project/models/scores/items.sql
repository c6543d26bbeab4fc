with questions as (
    select
        *,
        status not in {{ scores_unanswered() }} as is_answered,
        task in ('rpp', 'stp', 'ssp') as is_ranking,
        case when status = 'ok' then list_position(predicted_labels[1:3], gold_label) end as place
    from {{ ref('questions') }}
),

epochs as (
    select * from {{ ref('epochs') }}
),

predicted as (
    select
        *,
        case
            when status = 'ok' then predicted_labels[1]
            -- a failed answer counts as the wrong decision
            when is_answered and task = 'itp' then if(gold_label = 'yes', 'no', 'yes')
        end as predicted_label,
        case when is_ranking then nullif(place, 0)::bigint end as rank
    from questions
)

select
    predicted.corpus_id,
    predicted.corpus_version,
    predicted.model,
    predicted.generation,
    predicted.modality,
    predicted.protocol,
    predicted.task,
    predicted.task_version,
    predicted.instance_id,
    predicted.epoch,
    epochs.repeat_number,
    predicted.request_id,
    predicted.scenario,
    predicted.sample_id,
    predicted.session_group,
    predicted.row_index,
    predicted.position,
    predicted.n_candidates,
    predicted.status,
    predicted.truncated_in,
    predicted.gold_label,
    predicted.predicted_label,
    case
        when predicted.is_answered and (predicted.is_ranking or predicted.task = 'itp')
            then coalesce(predicted.predicted_label = predicted.gold_label, false)
    end as correct,
    predicted.rank,
    case
        when predicted.is_answered and predicted.is_ranking then coalesce(1.0 / predicted.rank, 0.0)
    end::double as reciprocal_rank,
    predicted.gold_intensity,
    case when predicted.status = 'ok' then predicted.predicted_intensity end as predicted_intensity,
    case
        when predicted.task <> 'er' or not predicted.is_answered then null
        when predicted.status = 'ok'
            then {{ scores_intensity_match('predicted.predicted_intensity', 'predicted.gold_intensity') }}
        else 1.0
    end as intensity_match,
    case
        when predicted.task = 'er'
            then list_avg([
                {{ scores_intensity_match('drawn', 'predicted.gold_intensity') }} for drawn in range(11)
            ])
    end as chance_intensity_match,
    coalesce(epochs.scored, false) as scored
from predicted
left join epochs
    on {{ scores_same_cell('predicted', 'epochs', ['task', 'epoch']) }}
