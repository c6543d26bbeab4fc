{# Closeness of an emotion's intensity (0-10) to the gold one: 5 for a hit, one less per step away, at least 1. #}
{% macro scores_intensity_match(predicted, gold) -%}
    greatest(1.0, 5.0 - abs({{ predicted }} - {{ gold }}))::double
{%- endmacro %}
