"""The small frames that the quality rules look at: DuckDB counts over raw.*, so that no rule reads a turn in Python.

Each column beside the ids is named after the rule (quality_rules.py) that judges it.
"""

from __future__ import annotations

import csv

import duckdb

from rescue_pipeline.bundle import ASSETS
from rescue_pipeline.corpus.record_shape import KNOWN_ROW_KEYS
from rescue_pipeline.corpus.records import SPECIAL_NAMES

PUBLISHED = ASSETS / "reference" / "paper_dataset_statistics.csv"

CUE_TOLERANCE_SECONDS = 0.25
"""A cue belongs to a turn when they meet within this: subtitles and annotations round differently."""

_SPECIAL = ", ".join(f"'{name}'" for name in sorted(SPECIAL_NAMES))
_KNOWN = f"list_contains(samples.participants, name) or name in ({_SPECIAL})"
_WORDS = r"unnest(regexp_extract_all(lower({text}), '[\pL\pN'']+'))"

FRAMES = {
    "sessions": """
        with counted as (
            select
                sample_id,
                count(*) as n_turns,
                count(distinct row_index) as n_numbers,
                min(row_index) as first_number,
                max(row_index) as last_number,
                min(least(start_time, end_time - start_time)) as earliest,
                count(*) filter (list_contains(flags, 'time_goes_back')) as n_back,
                count(*) filter (list_contains(flags, 'mojibake')) as n_mojibake
            from raw.turns
            group by sample_id
        )

        select
            samples.sample_id as sample_ids_are_unique,
            samples.scenario as scenarios_are_known,
            len(samples.participants) as somebody_takes_part,
            abs(coalesce(n_turns, 0) - samples.n_rows) + abs(coalesce(n_numbers, 0) - samples.n_rows)
                + abs(coalesce(first_number, 0) - 1) + abs(coalesce(last_number, 0) - samples.n_rows)
                as rows_are_numbered,
            coalesce(earliest, 0) as times_are_possible,
            coalesce(n_back, 0) as times_go_forward,
            coalesce(n_mojibake, 0) as text_is_intact
        from raw.samples
        left join counted on samples.sample_id = counted.sample_id
    """,
    "label_sets": """
        select scenario, kind, count(labels.label) as label_sets_are_loaded
        from (values ('couple'), ('family')) as scenarios(scenario)
        cross join (values ('relation_pattern'), ('support_strategy')) as kinds(kind)
        left join raw.labels using (scenario, kind)
        group by scenario, kind
    """,
    "speakers": f"""
        select {_KNOWN} as speakers_are_known
        from (select distinct sample_id, primary_speaker as name from raw.turns) as spoken
        inner join raw.samples on spoken.sample_id = samples.sample_id
    """,
    "targets": f"""
        select {_KNOWN} as targets_are_known
        from (select distinct sample_id, unnest(target) as name from raw.turns) as addressed
        inner join raw.samples on addressed.sample_id = samples.sample_id
        where trim(name) != ''
    """,
    "relation_patterns": """
        with labelled as (
            select distinct sample_id, unnest([relation_cycle_state, relation_pattern]) as label from raw.turns
        )

        select distinct samples.scenario || ': ' || trim(label) as relation_patterns_are_in_the_set
        from labelled
        inner join raw.samples on labelled.sample_id = samples.sample_id
        where trim(label) != ''
    """,
    "support_strategies": """
        with labelled as (
            select distinct sample_id, unnest(support_strategy).strategy_type as label from raw.turns
        )

        select distinct samples.scenario || ': ' || trim(label) as support_strategies_are_in_the_set
        from labelled
        inner join raw.samples on labelled.sample_id = samples.sample_id
        where trim(label) != ''
    """,
    "intensities": """
        select distinct unnest(internal_emotion).intensity as intensities_are_in_range from raw.turns
    """,
    "row_keys": "select distinct unnest(present_keys) as keys_are_known from raw.turns",
    "transcripts": """
        select
            bool_or(samples.sample_id is not null) as transcripts_have_a_session,
            min(end_time - start_time) as cue_times_are_possible
        from raw.transcript_cues as cues
        left join raw.samples on cues.sample_id = samples.sample_id
        group by cues.sample_id
    """,
    "time_coverage": f"""
        select avg((exists (
            from raw.turns
            where turns.sample_id = cues.sample_id
                and turns.start_time <= cues.end_time + {CUE_TOLERANCE_SECONDS}
                and turns.end_time >= cues.start_time - {CUE_TOLERANCE_SECONDS}
        ))::int) as annotations_cover_the_times
        from raw.transcript_cues as cues
        where cues.sample_id in (select sample_id from raw.samples)
        group by cues.sample_id
    """,
    "word_coverage": f"""
        with heard as (
            select sample_id, {_WORDS.format(text="text")} as word from raw.transcript_cues
            where sample_id in (select sample_id from raw.samples)
        ),

        annotated as (
            select sample_id, {_WORDS.format(text="dialogue_cleaned")} as word from raw.turns
            where sample_id in (select sample_id from raw.transcript_cues)
            union all
            select sample_id, {_WORDS.format(text="content")} as word
            from (select sample_id, unnest(background_dialogue).content as content from raw.turns)
            where sample_id in (select sample_id from raw.transcript_cues)
        ),

        heard_counts as (select sample_id, word, count(*) as n from heard group by all),

        annotated_counts as (select sample_id, word, count(*) as n from annotated group by all)

        select sum(least(heard_counts.n, coalesce(annotated_counts.n, 0))) / sum(heard_counts.n)
            as annotations_cover_the_words
        from heard_counts
        left join annotated_counts using (sample_id, word)
        group by sample_id
    """,
    "published_counts": """
        with spoken as (
            select
                samples.scenario,
                samples.sample_id,
                count(*) as n_turns,
                count(*) filter (primary_speaker = 'Therapist') as n_therapist
            from raw.samples
            inner join raw.turns on samples.sample_id = turns.sample_id
            group by all
        ),

        pooled as (
            select
                coalesce(scenario, 'both') as scenario,
                count(*)::double as samples,
                sum(n_turns)::double as turns,
                avg(n_turns) as mean_turns,
                100 * sum(n_therapist) / sum(n_turns) as therapist_turn_share_percent
            from spoken
            group by grouping sets ((scenario), ())
        ),

        ours as (unpivot pooled on columns(* exclude (scenario)) into name statistic value value)

        select abs(ours.value - published.value) <= published.half_a_unit + 1e-9 as counts_are_the_published_ones
        from ours
        inner join published using (statistic, scenario)
        where (select is_released from raw.corpus)
    """,
}


def frames(connection: duckdb.DuckDBPyConnection) -> dict[str, duckdb.DuckDBPyRelation]:
    """Every frame by its name, not yet computed."""
    published = f"with published as ({_published_sql()})"
    queries = FRAMES | {"published_counts": FRAMES["published_counts"].replace("with", f"{published},", 1)}
    return {name: connection.sql(query) for name, query in queries.items()}


def allowed_values(connection: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """The value sets that the data itself brings, by frame."""
    sets: dict[str, list[str]] = {"relation_patterns": [], "support_strategies": [], "row_keys": sorted(KNOWN_ROW_KEYS)}
    frame_of = {"relation_pattern": "relation_patterns", "support_strategy": "support_strategies"}
    for kind, label in connection.sql("select kind, scenario || ': ' || label from raw.labels").fetchall():
        sets[frame_of[kind]].append(label)
    return sets


def _published_sql() -> str:
    """The paper's figures that the corpus must reproduce, each with half a unit of its last printed decimal."""
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["comparable"] == "yes"]
    values = [
        f"('{row['statistic']}', '{row['scenario']}', {float(row['value'])}, {0.5 * 10.0 ** -_decimals(row['value'])})"
        for row in rows
    ]
    return f"select * from (values {', '.join(values)}) as v(statistic, scenario, value, half_a_unit)"


def _decimals(printed: str) -> int:
    return len(printed.partition(".")[2])
