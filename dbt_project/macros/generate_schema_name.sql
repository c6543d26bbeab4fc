{# A model lies in the schema of its folder, without the target's prefix, so that asset key, schema and table agree. #}
{% macro generate_schema_name(custom_schema_name, node) -%}
    {{ (custom_schema_name or target.schema) | trim }}
{%- endmacro %}
