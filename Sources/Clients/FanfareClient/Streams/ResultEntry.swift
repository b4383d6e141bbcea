internal import FanfareJSON
public import StreamWire

/// An entry of a project's `results` stream: some results of a job.
public struct ResultEntry: Sendable {
    public var id: String
    public var job: String
    public var results: [JobResult]
    /// The trace context that the producer gave the job (``PushJob/traceparent``); nil without one, and from older workers.
    public var traceparent: String?
    /// Only with ``traceparent``.
    public var tracestate: String?

    /// - Throws: ``FanfareClientError`` if no worker wrote the entry.
    public init(_ entry: StreamEntry) throws(FanfareClientError) {
        guard let job = entry.text("job"), let bytes = entry["results"] else {
            throw FanfareClientError(.unexpectedReply, "results entry \(entry.id) lacks a field")
        }
        let parsed: JSONValue
        do {
            parsed = try JSONParser.parse(bytes, limits: JSONLimits())
        } catch {
            throw FanfareClientError(.unexpectedReply, "results entry \(entry.id) is not JSON: \(error)")
        }
        guard let values = parsed.array else {
            throw FanfareClientError(.unexpectedReply, "results entry \(entry.id) is not an array")
        }
        self.id = entry.id
        self.job = job
        results = values.compactMap { JobResult($0) }
        traceparent = entry.text("traceparent")
        tracestate = entry.text("tracestate")
    }
}
