"""PyAirbyte: Airbyte's declarative connector into its DuckDB cache. Unsigned: its manifest knows no signature of requests."""

import os

os.environ.update({"DO_NOT_TRACK": "1", "AIRBYTE_OFFLINE_MODE": "1"})

import airbyte  # noqa: E402

from measure import measured  # noqa: E402

FIELDS = "id name username email phone address company_name language timezone created_at".split()


def sync(task):
    os.makedirs(task["file"], exist_ok=True)
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
            "paginator": {
                "type": "DefaultPaginator",
                "page_token_option": {
                    "type": "RequestOption",
                    "inject_into": "request_parameter",
                    "field_name": "page",
                },
                "pagination_strategy": {
                    "type": "PageIncrement",
                    "start_from_page": 1,
                    "page_size": 100,
                    "inject_on_first_request": True,
                },
            },
        },
        "schema_loader": {
            "type": "InlineSchemaLoader",
            "schema": {"type": "object", "properties": {field: {"type": ["string", "null"]} for field in FIELDS}},
        },
    }


measured(sync)
