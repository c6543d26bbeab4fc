-- adjacency ("the row before"), the early cut-off and position all count on it
{{ config(meta={'dagster': {'ref': {'name': 'turns'}}}) }}

select
    sessions.sample_id,
    sessions.n_turns,
    count(*) as n_numbered,
    min(turns.row_index) as first_row,
    max(turns.row_index) as last_row
from {{ ref('sessions') }} as sessions
inner join {{ ref('turns') }} as turns on sessions.sample_id = turns.sample_id
group by sessions.sample_id, sessions.n_turns
having first_row != 1 or last_row != sessions.n_turns or n_numbered != sessions.n_turns
