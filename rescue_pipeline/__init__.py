"""RESCUE-BENCH as a declarative pipeline.

The switches below must be set before any of these libraries is imported, so they live here and nowhere else:
no price-map download, no usage statistics, no pop-ups.
"""

import os

OFFLINE_SWITCHES = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "DAGSTER_DISABLE_TELEMETRY": "1",
    "GX_ANALYTICS_ENABLED": "false",
    "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
    "DO_NOT_TRACK": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
}
os.environ.update(OFFLINE_SWITCHES)

__version__ = "0.1.0"
