{#
    True where item `index` (0-based) is one of `wanted` items picked evenly from `available`.

    Picked are the positions k * (available - 1) / (wanted - 1) for k = 0 .. wanted - 1, each rounded half to even; all
    items when there are no more than wanted; the item at position `sole` when one is wanted. Instead of listing the
    positions, each item asks only the k nearest to it: steps are wider than 1, so no other k can reach it.
#}
{% macro evenly_picked(index, available, wanted, sole) -%}
    case
        when {{ available }} <= {{ wanted }} then true
        when {{ wanted }} = 0 then false
        when {{ wanted }} = 1 then {{ index }} = {{ sole }}
        else {{ index }} = round_even(
            round({{ index }} * ({{ wanted }} - 1) / ({{ available }} - 1)) * ({{ available }} - 1) / ({{ wanted }} - 1), 0
        )
    end
{%- endmacro %}
