{# As many rows as another model: nothing was lost in a join, nothing doubled. #}
{% test same_rows_as(model, to) %}
select
    (select count(*) from {{ model }}) as n_here,
    (select count(*) from {{ to }}) as n_there
where n_here != n_there
{% endtest %}
