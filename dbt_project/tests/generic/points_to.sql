{# Every row's columns name a row of another model that has columns of the same names. #}
{% test points_to(model, to, columns) %}
select {{ columns | join(', ') }}
from {{ model }}
anti join {{ to }} using ({{ columns | join(', ') }})
{% endtest %}
