"""
dlt: its REST source into DuckDB, merged by id, as its guide shows it. Not into SQLite: its merge there takes time that
grows with the square of the rows.
"""

import os

os.environ.update({"RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "ERROR"})

import dlt  # noqa: E402
from dlt.sources.rest_api import rest_api_source  # noqa: E402

from measure import measured  # noqa: E402
from dlt_signing import SignedRequests  # noqa: E402


def sync(task):
    """The task's file is a folder here: dlt keeps its own state beside the database, and needs it the next night."""
    os.makedirs(task["file"], exist_ok=True)
    resources = [
        {
            "name": "customers",
            "primary_key": "id",
            "write_disposition": "merge",
            "endpoint": {"path": f"{organization}/api/v1/customers", "params": {"per_page": 100}},
        }
        for organization in task["organizations"]
    ]
    source = rest_api_source(
        {
            "client": {
                "base_url": task["origin"],
                "auth": SignedRequests(),
                "paginator": {
                    "type": "page_number",
                    "base_page": 1,
                    "page_param": "page",
                    "total_path": "meta.last_page",
                },
            },
            "resource_defaults": {"endpoint": {"data_selector": "data"}},
            "resources": resources,
        }
    )
    pipeline = dlt.pipeline(
        pipeline_name="customers",
        pipelines_dir=os.path.join(task["file"], "state"),
        destination=dlt.destinations.duckdb(os.path.join(task["file"], "customers.duckdb")),
        dataset_name="mirror",
    )
    pipeline.run(source).raise_on_failed_jobs()
    return pipeline.last_trace.last_normalize_info.row_counts["customers"]


measured(sync)
