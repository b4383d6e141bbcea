"""An OTLP/HTTP collector on loopback that checks every body against the published protobuf schema.

`--port N` takes that port, 0 a free one; the port is printed. `POST /mode` with `ok`, `busy` (429 with Retry-After: 2),
`bad` (400) or `hang` decides how requests are answered from then on. `GET /seen` tells what arrived.
"""
import argparse
import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

lock = threading.Lock()
mode = "ok"
seen = {"spans": [], "metrics": {}, "requests": [], "errors": [], "resources": [], "text": ""}


def without_hex(value):
    """OTLP writes ids in hexadecimal digits, where protobuf's JSON has base64."""
    if isinstance(value, list):
        return [without_hex(element) for element in value]
    if not isinstance(value, dict):
        return value
    copy = {}
    for key, element in value.items():
        if key in ("traceId", "spanId", "parentSpanId"):
            data = bytes.fromhex(element)
            if len(data) != (16 if key == "traceId" else 8) or not any(data) or element != element.lower():
                raise ValueError(f"{key}: {element}")
            copy[key] = base64.b64encode(data).decode()
        else:
            copy[key] = without_hex(element)
    return copy


def attributes(pairs):
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}


def read_traces(text):
    request = json_format.Parse(json.dumps(without_hex(json.loads(text))), ExportTraceServiceRequest())
    for resource in request.resource_spans:
        seen["resources"].append(attributes(resource.resource.attributes))
        for scope in resource.scope_spans:
            for span in scope.spans:
                if not 0 < span.start_time_unix_nano <= span.end_time_unix_nano or not span.name:
                    raise ValueError(f"span {span}")
                seen["spans"].append({
                    "name": span.name, "trace": span.trace_id.hex(), "span": span.span_id.hex(),
                    "parent": span.parent_span_id.hex(), "state": span.trace_state, "kind": span.kind,
                    "links": [link.trace_id.hex() for link in span.links],
                    "attributes": {k: str(v) for k, v in attributes(span.attributes).items()},
                })


def read_metrics(text):
    request = json_format.Parse(text, ExportMetricsServiceRequest())
    for resource in request.resource_metrics:
        seen["resources"].append(attributes(resource.resource.attributes))
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                data = getattr(metric, metric.WhichOneof("data"))
                for point in data.data_points:
                    if not point.time_unix_nano:
                        raise ValueError(f"point of {metric.name} without a time")
                    labels = attributes(point.attributes)
                    name = metric.name + "".join(f",{key}={labels[key]}" for key in sorted(labels))
                    if metric.WhichOneof("data") == "histogram":
                        if len(point.bucket_counts) != len(point.explicit_bounds) + 1:
                            raise ValueError(f"buckets of {metric.name}")
                        if sum(point.bucket_counts) != point.count:
                            raise ValueError(f"count of {metric.name}")
                        seen["metrics"][name] = point.count
                    else:
                        seen["metrics"][name] = getattr(point, point.WhichOneof("value"))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, headers=()):
        data = body.encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        with lock:
            self.answer(200, json.dumps(seen))

    def do_POST(self):
        global mode
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path == "/mode":
            mode = text
            return self.answer(200, "{}")
        now = mode
        with lock:
            seen["requests"].append({
                "path": self.path, "mode": now, "time": time.monotonic(), "key": self.headers.get("X-Api-Key", ""),
                "type": self.headers.get("Content-Type", ""),
            })
            if now == "ok":
                try:
                    {"/v1/traces": read_traces, "/v1/metrics": read_metrics}[self.path](text)
                    seen["text"] = text if self.path == "/v1/traces" else seen["text"]
                except Exception as error:  # the test shows it
                    seen["errors"].append(f"{self.path}: {error!r}: {text[:2000]}")
        if now == "busy":
            return self.answer(429, "{}", [("Retry-After", "2")])
        if now == "bad":
            return self.answer(400, "{}")
        if now == "hang":
            time.sleep(3600)
        self.answer(200, "{}")


parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int, default=0)


class Server(ThreadingHTTPServer):
    daemon_threads = True


server = Server(("127.0.0.1", parser.parse_args().port), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
