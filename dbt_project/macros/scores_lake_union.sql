{# All rows of a lake table that is kept per task (`responses_er`, `responses_vp`, ...), with the given columns. #}
{% macro scores_lake_union(table, columns, judged_only=false) -%}
    {%- set tasks = ['er', 'vp'] if judged_only else ['er', 'vp', 'rpp', 'itp', 'stp', 'ssp'] -%}
    {%- for task in tasks %}
        select {{ columns | join(', ') }} from {{ source('lake', table ~ '_' ~ task) }}
        {%- if not loop.last %} union all{% endif %}
    {%- endfor %}
{%- endmacro %}
