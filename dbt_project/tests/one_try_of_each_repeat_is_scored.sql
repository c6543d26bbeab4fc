select
    {{ scores_cell(['task', 'repeat_number']) }},
    count_if(scored) as n_scored
from {{ ref('epochs') }}
group by {{ scores_cell(['task', 'repeat_number']) }}
having n_scored != 1
