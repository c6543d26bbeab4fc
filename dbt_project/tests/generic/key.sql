{# The columns together name one row, and none of them is missing. #}
{% test key(model, columns) %}
select {{ columns | join(', ') }}
from {{ model }}
group by all
having count(*) > 1 {% for column in columns %} or {{ column }} is null {% endfor %}
{% endtest %}
