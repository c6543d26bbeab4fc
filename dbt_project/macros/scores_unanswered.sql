{# The statuses of a planned question that nobody has answered yet: neither right nor wrong. #}
{% macro scores_unanswered() -%}
    ('api_error', 'not_run')
{%- endmacro %}
