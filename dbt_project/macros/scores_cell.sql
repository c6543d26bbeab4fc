{#
    A cell is one condition of a corpus version: the partition of a run (model, modality, protocol) and its generation.
    scores_cell lists its columns (and further ones); scores_same_cell joins two relations on them.
#}
{% macro scores_cell_columns(more) -%}
    {{ return(['corpus_version', 'model', 'generation', 'modality', 'protocol'] + more) }}
{%- endmacro %}

{% macro scores_cell(more=[], relation=none) -%}
    {%- for column in scores_cell_columns(more) -%}
        {{ relation ~ '.' if relation }}{{ column }}{{ ', ' if not loop.last }}
    {%- endfor -%}
{%- endmacro %}

{% macro scores_same_cell(left, right, more=[]) -%}
    {%- for column in scores_cell_columns(more) -%}
        {{ left }}.{{ column }} = {{ right }}.{{ column }}{{ ' and ' if not loop.last }}
    {%- endfor -%}
{%- endmacro %}
