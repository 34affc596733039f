"""Qdrant's engine behind a double of its REST server on loopback.

What is stored, filtered and scored is the engine's own (`qdrant-edge-py`, the Rust engine that the server is built on).
The REST face is ours: it takes the requests that Ragstone makes, in the vendor's models, which refuse unknown fields,
and answers with the documented bodies. The engine's Python face takes True for 1 in a match, so booleans are marked
strings inside.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import qdrant_edge as edge
from pydantic import BaseModel, ValidationError
from qdrant_client.http import models

KEY = "test-key-0123456789abcdef"
_DONE = {"operation_id": 1, "status": "completed"}


class RefusedError(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Collection:
    """One shard of the engine, and how it was made."""

    def __init__(self, path: Path, asked: models.CreateCollection) -> None:
        assert isinstance(asked.vectors, models.VectorParams)
        self.asked = asked
        self.indexes: dict[str, str] = {}
        self.shard = edge.EdgeShard.create(
            str(path),
            edge.EdgeConfig(
                vectors=edge.EdgeVectorParams(
                    size=asked.vectors.size, distance=getattr(edge.Distance, asked.vectors.distance.value)
                ),
                sparse_vectors={name: edge.EdgeSparseVectorParams() for name in asked.sparse_vectors or {}},
                wal_enabled=False,
            ),
        )

    def describe(self) -> dict[str, Any]:
        sparse = {name: {} for name in self.asked.sparse_vectors or {}}
        assert isinstance(self.asked.vectors, models.VectorParams)
        params = {"vectors": self.asked.vectors.model_dump(exclude_none=True), "shard_number": 1}
        return {
            "status": "green",
            "optimizer_status": "ok",
            "segments_count": 1,
            "config": {
                "params": {**params, "sparse_vectors": sparse} if sparse else params,
                "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10000},
                "optimizer_config": {
                    "deleted_threshold": 0.2,
                    "vacuum_min_vector_number": 1000,
                    "flush_interval_sec": 5,
                    "default_segment_number": 0,
                },
            },
            "payload_schema": {},
        }

    def index(self, asked: models.CreateFieldIndex) -> dict[str, Any]:
        assert isinstance(asked.field_schema, models.PayloadSchemaType)
        kind = getattr(edge.PayloadSchemaType, asked.field_schema.value.capitalize())
        self.shard.update(edge.UpdateOperation.create_field_index(asked.field_name, kind))
        self.indexes[asked.field_name] = asked.field_schema.value
        return _DONE

    def points(self, method: str, what: list[str], body: bytes) -> Any:
        match method, what:
            case "PUT", []:
                points = [_point(point) for point in _read(models.PointsList, body).points]
                self.shard.update(edge.UpdateOperation.upsert_points(points))
                return _DONE
            case "POST", ["delete"]:
                selected = _read(models.FilterSelector, body)
                self.shard.update(edge.UpdateOperation.delete_points_by_filter(_filter(selected.filter)))
                return _DONE
            case "POST", ["query"]:
                return {"points": _query(self.shard, _read(models.QueryRequest, body))}
            case "POST", []:
                wanted = _read(models.PointRequest, body)
                records = self.shard.retrieve(
                    [str(item) for item in wanted.ids], wanted.with_payload, wanted.with_vector
                )
                return [
                    {"id": str(r.id), "payload": _outward(r.payload), "vector": _vectors(r.vector)} for r in records
                ]
        raise RefusedError(404, "")


class QdrantServer:
    """Its collections outlive `stop` and `start`. `refuse` is asked first, and may raise `RefusedError`."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str]] = []
        self.refuse: Callable[[str, str], None] = lambda method, path: None
        self._folder = Path(tempfile.mkdtemp())
        self._collections: dict[str, Collection] = {}
        self._spare: dict[str, Collection] = {}
        self._made = 0
        self._lock = threading.Lock()
        self._port = 0
        self._http: ThreadingHTTPServer | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def indexes(self, collection: str) -> dict[str, str]:
        return self._collections[collection].indexes

    def start(self) -> None:
        handler = type("Handler", (_Handler,), {"server_of_qdrant": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", self._port), handler)
        self._http.daemon_threads = True
        self._port = self._http.server_address[1]
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def stop(self) -> None:
        if self._http is not None:
            self._http.shutdown()
            self._http.server_close()
            self._http = None

    def close(self) -> None:
        self.stop()
        for collection in (*self._collections.values(), *self._spare.values()):
            collection.shard.close()
        shutil.rmtree(self._folder)

    def answer(self, method: str, target: str, key: str | None, body: bytes) -> Any:
        url = urlsplit(target)
        self.requests.append((method, url.path))
        if key != KEY:
            raise RefusedError(401, "Must provide an API key or an Authorization bearer token")
        self.refuse(method, url.path)
        match [unquote(part) for part in url.path.split("/")[1:]]:
            case ["collections", name, *rest]:
                with self._lock:
                    return self._of_collection(method, name, rest, parse_qs(url.query), body)
        raise RefusedError(404, "")

    def _of_collection(
        self, method: str, name: str, rest: list[str], options: dict[str, list[str]], body: bytes
    ) -> Any:
        match method, rest:
            case "GET", ["exists"]:
                return {"exists": name in self._collections}
            case "PUT", []:
                return self._create(name, _read(models.CreateCollection, body))
            case "DELETE", []:
                return self._drop(name)
        if name not in self._collections:
            raise RefusedError(404, f"Not found: Collection `{name}` doesn't exist!")
        collection = self._collections[name]
        if method == "PUT" or rest[-1:] == ["delete"]:
            assert options["wait"] == ["true"], "a write that is not waited for is read too early"
        match method, rest:
            case "GET", []:
                return collection.describe()
            case "PUT", ["index"]:
                return collection.index(_read(models.CreateFieldIndex, body))
            case _, ["points", *what]:
                return collection.points(method, what, body)
        raise RefusedError(404, "")

    def _create(self, name: str, asked: models.CreateCollection) -> bool:
        if name in self._collections:
            raise RefusedError(409, f"Wrong input: Collection `{name}` already exists!")
        spare = self._spare.pop(asked.model_dump_json(), None)
        if spare is None:
            self._made += 1
            spare = Collection(self._folder / str(self._made), asked)
        self._collections[name] = spare
        return True

    def _drop(self, name: str) -> bool:
        """An emptied shard is kept for the next collection like it: making one takes a fifth of a second."""
        held = self._collections.pop(name, None)
        if held is not None:
            held.shard.update(edge.UpdateOperation.delete_points_by_filter(edge.Filter()))
            self._spare[held.asked.model_dump_json()] = held
        return held is not None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_of_qdrant: QdrantServer

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        try:
            result = self.server_of_qdrant.answer(self.command, self.path, self.headers.get("api-key"), body)
            status, answer = 200, {"result": result, "status": "ok", "time": 0.001}
        except ConnectionAbortedError:
            self.close_connection = True
            return
        except RefusedError as error:
            status, answer = error.status, {"status": {"error": str(error)}, "time": 0.001}
        except (ValidationError, ValueError) as error:
            status, answer = 400, {"status": {"error": f"Format error in JSON body: {error}"}, "time": 0.001}
        except Exception as error:  # noqa: BLE001 (the engine raises plain ones)
            status, answer = 400, {"status": {"error": f"Wrong input: {error}"}, "time": 0.001}
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_DELETE = _handle  # noqa: N815 (the base class names them so)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it so)
        pass


def _read(kind: type[Any], body: bytes) -> Any:
    assert issubclass(kind, BaseModel)
    return kind.model_validate_json(body)


def _point(point: models.PointStruct) -> edge.Point:
    return edge.Point(id=str(point.id), vector=_vector(point.vector), payload=_inward(point.payload))


def _inward(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _inward(item) for key, item in value.items()}
    return f"\0{value}" if isinstance(value, bool) else value


def _outward(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _outward(item) for key, item in value.items()}
    return value == "\0True" if value in ("\0True", "\0False") else value


def _vector(vector: Any) -> Any:
    if isinstance(vector, dict):
        return {name: _vector(item) for name, item in vector.items()}
    if isinstance(vector, models.SparseVector):
        return edge.SparseVector(indices=vector.indices, values=vector.values)
    return vector


def _vectors(held: Any) -> Any:
    if isinstance(held, dict):
        return {name: _vectors(item) for name, item in held.items()}
    if isinstance(held, edge.SparseVector):
        return {"indices": held.indices, "values": held.values}
    return held


def _query(shard: edge.EdgeShard, asked: models.QueryRequest) -> list[dict[str, Any]]:
    assert isinstance(asked.query, models.NearestQuery)
    found = shard.query(
        edge.QueryRequest(
            limit=asked.limit or 10,
            query=edge.Query.Nearest(_vector(asked.query.nearest), using=asked.using),
            filter=None if asked.filter is None else _filter(asked.filter),
            score_threshold=asked.score_threshold,
            with_payload=asked.with_payload,
            with_vector=asked.with_vector,
        )
    )
    return [
        {"id": str(p.id), "version": 0, "score": p.score, "payload": _outward(p.payload), "vector": p.vector}
        for p in found
    ]


def _filter(asked: models.Filter) -> edge.Filter:
    assert isinstance(asked.must, list)
    return edge.Filter(must=[_condition(condition) for condition in asked.must])


def _condition(asked: Any) -> edge.FieldCondition:
    assert isinstance(asked, models.FieldCondition)
    if isinstance(asked.match, models.MatchValue):
        return edge.FieldCondition(key=asked.key, match=edge.MatchValue(_inward(asked.match.value)))
    assert isinstance(asked.range, models.Range)
    return edge.FieldCondition(key=asked.key, range=edge.RangeFloat(gte=asked.range.gte, lte=asked.range.lte))


@contextmanager
def qdrant() -> Iterator[QdrantServer]:
    server = QdrantServer()
    try:
        yield server
    finally:
        server.close()
