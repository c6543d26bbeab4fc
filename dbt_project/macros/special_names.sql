{# The names that stand for no single client: the therapist and the two group labels. #}
{% macro special_names() -%}
    ('Therapist', 'Couple', 'Family')
{%- endmacro %}
