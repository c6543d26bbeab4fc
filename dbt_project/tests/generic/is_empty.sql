{# The model has no rows: for tables that list what a reader should look at. #}
{% test is_empty(model) %}
select * from {{ model }}
{% endtest %}
