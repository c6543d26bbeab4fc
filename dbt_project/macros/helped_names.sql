{# The different names in a target list, without the therapist and without blanks; an empty list for a missing one. #}
{% macro helped_names(names) -%}
    coalesce(
        list_distinct(list_filter({{ names }}, lambda name: name != 'Therapist' and {{ has_text('name') }})), []
    )
{%- endmacro %}
