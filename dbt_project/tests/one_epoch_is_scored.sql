select
    {{ scores_cell(['task']) }},
    count_if(scored) as n_scored
from {{ ref('epochs') }}
group by {{ scores_cell(['task']) }}
having n_scored != 1
