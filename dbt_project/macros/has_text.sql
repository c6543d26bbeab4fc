{# True where a value is there and holds more than white space. #}
{% macro has_text(value) -%}
    coalesce(regexp_matches({{ value }}, '\S'), false)
{%- endmacro %}
