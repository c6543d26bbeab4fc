{# Whether a figure about the corpus may stand beside the paper's, which describe the released corpus only, and why. #}
{% macro scores_beside_paper(versions, paper) -%}
    if({{ versions }}.is_released, {{ paper }}.comparable, 'no') as comparable,
    if(
        {{ versions }}.is_released,
        {{ paper }}.comparable_reason,
        'other data: the published figures describe the released corpus'
    ) as comparable_reason
{%- endmacro %}
