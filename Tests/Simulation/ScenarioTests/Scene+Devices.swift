import FCMSimulator
import FanfareJSON
import FanfareModel
import Testing

/// The devices of a scene, and what they received.
extension Scene {
    /// Describes a device, or changes it.
    mutating func device(_ token: String, _ device: Device) {
        var body = device.json
        body["token"] = .string(token)
        let reply = control("POST", "/devices", JSONValue.object(body).jsonText)
        #expect(reply.status == 200, "\(reply.text)")
    }

    /// Adds anonymous subscribers to a topic.
    mutating func audience(_ topic: String, of count: Int) {
        #expect(control("POST", "/devices", #"{"topic":"\#(topic)","subscribers":\#(count)}"#).status == 200)
    }

    @discardableResult
    mutating func control(_ method: String, _ path: String, query: String = "", _ body: String = "") -> SimulatorReply {
        let request = SimulatorRequest(method: method, path: path, query: query, body: Array(body.utf8))
        return simulator.control(request, nowMs: nowMs)
    }

    /// What a device has received, oldest first.
    mutating func arrivals(_ token: String) throws -> [Arrival] {
        try lines(control("GET", "/deliveries", query: "token=" + token)).map { Arrival(json: $0) }
    }

    /// The one message or event that a device has received.
    mutating func arrival(_ token: String) throws -> Arrival {
        let all = try arrivals(token)
        #expect(all.count == 1)
        return try #require(all.last)
    }

    mutating func fanouts() throws -> [JSONObject] { try lines(control("GET", "/fanouts")) }

    /// Milliseconds from the acceptance of each fan-out to its end; nil while it is active.
    mutating func fanoutTimes() throws -> [Int64?] {
        try fanouts().map { fanout in
            let accepted = try #require(fanout["accepted_ms"]?.number?.int64)
            return fanout["finished_ms"]?.number?.int64.map { $0 - accepted }
        }
    }

    mutating func statistic(_ name: String) throws -> Int64 {
        try #require(try control("GET", "/stats").json()[name]?.number?.int64)
    }

    /// How many accepted messages were dropped for that reason.
    mutating func dropped(_ reason: String) throws -> Int64 {
        try control("GET", "/stats").json()["dropped"]?.object?[reason]?.number?.int64 ?? 0
    }

    private func lines(_ reply: SimulatorReply) throws -> [JSONObject] {
        try reply.text.split(separator: "\n").map { try #require(try JSONParser.parse(Array($0.utf8)).object) }
    }
}

/// One message, or one event, as its device sees it.
struct Arrival {
    var json: JSONObject

    var text: String { JSONValue.object(json).jsonText }
    var payload: JSONObject { json["payload"]?.object ?? JSONObject() }
    var headers: JSONObject { json["headers"]?.object ?? JSONObject() }
    var aps: JSONObject { payload["aps"]?.object ?? JSONObject() }
    var timeMs: Int64 { json["time_ms"]?.number?.int64 ?? 0 }
    var isDeletedMessages: Bool { json["event"] == "deleted_messages" }

    /// The callbacks, each as `name:when:what+it+carries`.
    var callbacks: [String] {
        (json["callback"]?.array ?? []).compactMap(\.object).map { callback in
            let parts = (callback["carries"]?.array ?? []).compactMap(\.string).joined(separator: "+")
            return "\(callback["name"]?.string ?? ""):\(callback["when"]?.string ?? ""):\(parts)"
        }
    }

    /// What a tap opens.
    var opens: String? {
        (json["callback"]?.array ?? []).compactMap { $0.object?["opens"]?.string }.first
    }

    /// The titles on the screen after it, or the bodies of notifications without one; oldest first.
    var shown: [String] {
        notifications.map { $0["title"]?.string ?? $0["body"]?.string ?? "" }
    }

    var notifications: [JSONObject] {
        (json["screen"]?.object?["notifications"]?.array ?? []).compactMap(\.object)
    }

    var badge: Int64? { json["screen"]?.object?["badge"]?.number?.int64 }
}

extension Verdict {
    var isSent: Bool {
        if case .sent = self { return true }
        return false
    }

    var messageID: String? {
        if case .sent(let id, _) = self { return id }
        return nil
    }

    /// Error and action of a final failure, as a result has them; empty for any other verdict.
    var failure: String {
        guard case .failed(let failure) = self else { return "" }
        return "\(failure.error.rawValue) \(failure.action.rawValue)"
    }

    /// The reason and the scope of a retry; nil for any other verdict.
    var retry: Retry? {
        if case .retry(let retry) = self { return retry }
        return nil
    }
}
