"""The leaks that a protocol may declare, to measure what they are worth; no other protocol gives any of this away.

Here, and nowhere else, what goes into a question depends on the gold of an instance that is asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rescue_pipeline.errors import RescueError
from rescue_pipeline.tasks.protocol import Leak, Protocol

Row = Mapping[str, Any]

TASK_OF_GOLD_EXAMPLE = "vp"
"""The task whose example the public scripts take from the gold of a test instance."""


def declared_gold(protocol: Protocol, leak: Leak, instance: Row) -> dict[str, Any]:
    """The gold of an instance, for a leak that the protocol declares. Raises RescueError for any other protocol."""
    if leak not in protocol.leaks:
        raise RescueError("a question asked for gold that its protocol does not give away", found=leak)
    gold: dict[str, Any] = json.loads(instance["gold"])
    return gold


def item_id(protocol: Protocol, instance: Row) -> str:
    """What one of several questions in a request is called: the number of its turn, which the turns bear anyway.

    Under the leak `ids` it is the session's name and, for itp, the answer.
    """
    number = instance["row_index"]
    if "ids" not in protocol.leaks:
        return str(number)
    if instance["task"] != "itp":
        return f"{instance['sample_id']}/row_{number}"
    yes = declared_gold(protocol, "ids", instance)["should_speak"] == "yes"
    return f"{instance['sample_id']}/{'pos' if yes else 'neg'}_after_{number}"


def telling_fields(protocol: Protocol, instance: Row) -> dict[str, Any]:
    """The fields that the public scripts print beside a question; none without the leak `ids`."""
    if "ids" not in protocol.leaks:
        return {}
    fields = {"sample_id": instance["sample_id"], "row_index": instance["row_index"]}
    if instance["task"] != "itp":
        return fields
    return {
        **fields,
        "actual_therapist_entry": declared_gold(protocol, "ids", instance)["should_speak"] == "yes",
    }
