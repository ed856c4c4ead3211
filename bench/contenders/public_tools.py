"""
A program: public tools, as their guides show them, into DuckDB; the first argument names one. Not into SQLite: the merge of dlt there takes
time that grows with the square of the rows. PyAirbyte is not signed: its manifest knows no signature of requests. The task's file is a
folder here: tools keep a state of their own beside the database, and need it the next night.
"""

import hashlib
import hmac
import json
import os
import resource
import sys
import time
from urllib.parse import urlsplit

os.environ.update({"RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "ERROR"})
os.environ.update({"DO_NOT_TRACK": "1", "AIRBYTE_OFFLINE_MODE": "1"})

FIELDS = "id name username email phone address company_name language timezone created_at".split()


def dlt(task):
    import dlt
    from dlt.common.configuration import configspec
    from dlt.sources.helpers.rest_client.auth import AuthConfigBase
    from dlt.sources.rest_api import rest_api_source

    @configspec
    class SignedRequests(AuthConfigBase):
        def __call__(self, request):
            url = urlsplit(request.url)
            target = f"{url.path}?{url.query}" if url.query else url.path
            timestamp = str(int(time.time()))
            text = f"{request.method}\n{target}\n{timestamp}\n"
            signature = hmac.new(b"made-up-secret", text.encode(), hashlib.sha256).hexdigest()
            request.headers.update({"X-API-Key": "made-up-key", "X-Timestamp": timestamp, "X-Signature": signature})
            return request

    pages = {"type": "page_number", "base_page": 1, "page_param": "page", "total_path": "meta.last_page"}
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
            "client": {"base_url": task["origin"], "auth": SignedRequests(), "paginator": pages},
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


def pyairbyte(task):
    import airbyte

    source = airbyte.get_source(
        "source-declarative-manifest",
        config={},
        source_manifest={
            "version": "6.0.0",
            "type": "DeclarativeSource",
            "check": {"type": "CheckStream", "stream_names": ["customers"]},
            "spec": {"type": "Spec", "connection_specification": {"type": "object", "properties": {}}},
            "streams": [stream(task["origin"], organization) for organization in task["organizations"]],
        },
    )
    source.select_all_streams()
    cache = airbyte.caches.DuckDBCache(db_path=os.path.join(task["file"], "customers.duckdb"), schema_name="mirror")
    return source.read(cache=cache).processed_records


def stream(origin, organization):
    page = {"type": "RequestOption", "inject_into": "request_parameter", "field_name": "page"}
    pages = {"type": "PageIncrement", "start_from_page": 1, "page_size": 100, "inject_on_first_request": True}
    return {
        "type": "DeclarativeStream",
        "name": "customers",
        "primary_key": ["id"],
        "retriever": {
            "type": "SimpleRetriever",
            "requester": {
                "type": "HttpRequester",
                "url_base": origin,
                "path": f"/{organization}/api/v1/customers",
                "http_method": "GET",
                "request_parameters": {"per_page": "100"},
            },
            "record_selector": {
                "type": "RecordSelector",
                "extractor": {"type": "DpathExtractor", "field_path": ["data"]},
            },
            "paginator": {"type": "DefaultPaginator", "page_token_option": page, "pagination_strategy": pages},
        },
        "schema_loader": {
            "type": "InlineSchemaLoader",
            "schema": {"type": "object", "properties": {field: {"type": ["string", "null"]} for field in FIELDS}},
        },
    }


def cpu_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def written_bytes():
    with open("/proc/self/io", encoding="ascii") as counts:
        return next(int(line.split()[1]) for line in counts if line.startswith("write_bytes"))


def folder_bytes(folder):
    return sum(os.path.getsize(os.path.join(path, name)) for path, _, names in os.walk(folder) for name in names)


tool, task = {"dlt": dlt, "pyairbyte": pyairbyte}[sys.argv[1]], json.loads(sys.argv[2])
os.makedirs(task["file"], exist_ok=True)
__import__({"dlt": "dlt.sources.rest_api", "pyairbyte": "airbyte"}[sys.argv[1]])
started, cpu, written = time.perf_counter(), cpu_seconds(), written_bytes()
customers = tool(task)
measured = {
    "wallMs": (time.perf_counter() - started) * 1000,
    "cpuMs": (cpu_seconds() - cpu) * 1000,
    "peakRssBytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    "writtenBytes": written_bytes() - written,
    "fileBytes": folder_bytes(task["file"]),
    "customers": customers,
}
print("\n" + json.dumps(measured))
