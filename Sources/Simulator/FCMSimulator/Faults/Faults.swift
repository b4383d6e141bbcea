import FanfareJSON
internal import FanfareModel

/// The effect of a fault on a request.
struct FaultAction: Equatable, Sendable {
    var status: Int?
    var retryAfter: String?
    var body: String?
    var html: Int?
    var delayMs: Int64 = 0
    var wire: WireFault?
    /// XMPP: the code of a nack.
    var nack: String?
    /// XMPP: the connection drains.
    var isDraining = false
    /// XMPP: the answer has no `message_id`.
    var hidesID = false
    /// XMPP: text that is written before the answer, as it is.
    var stanza: String?

    /// True if the request is answered, or its connection cut, without being looked at.
    var replaces: Bool {
        if status != nil || html != nil { return true }
        switch wire {
        case .reset, .refuseStream, .goAway, .close: return true
        case .truncate, .maxConcurrentStreams, nil: return false
        }
    }

    /// The answer in place of FCM's own. An error status without a body has FCM's error object.
    func reply(to path: String) -> SimulatorReply {
        var reply: SimulatorReply
        if let html {
            let sentence = "The server encountered a temporary error. Please try again in 30 seconds."
            reply = SimulatorReply(page: html, sentence)
        } else if let status, status >= 400, body == nil, Self.isFCM(path) {
            let name = Self.statusNames[status] ?? "UNKNOWN"
            let error: JSONObject = ["code": .integer(status), "message": "A fault.", "status": .string(name)]
            reply = SimulatorReply(status: status, object: ["error": .object(error)])
        } else {
            let isJSON = body?.hasPrefix("{") ?? false
            reply = SimulatorReply(
                status: status ?? 500,
                contentType: isJSON ? "application/json; charset=UTF-8" : "text/plain; charset=UTF-8",
                text: body ?? ""
            )
        }
        if let retryAfter { reply = reply.adding("retry-after", retryAfter) }
        reply.delayMs = delayMs
        reply.wire = wire
        return reply
    }

    /// Token endpoints have an error object of their own.
    private static func isFCM(_ path: String) -> Bool {
        ["/v1/projects/", "/fcm/", "/iid/"].contains { path.hasPrefix($0) } && !path.hasPrefix("/v1/projects/-/")
    }

    private static let statusNames = [
        400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ABORTED",
        429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
    ]
}

/// One rule: which requests it hits, what it does to them, and how often it still does so.
struct Fault: Equatable, Sendable {
    var id: String
    var path: String
    var tokenPrefix: String?
    var fraction: Double
    var action: FaultAction
    /// nil for no end.
    var timesLeft: Int?
    var hits = 0
    /// The posted JSON, which `GET /faults` shows.
    var source: JSONObject
}

/// The rules in force. The oldest rule that fits a request is applied to it.
struct Faults: Equatable, Sendable {
    static let most = 1_000
    /// The path of a fault on XMPP, which has no paths of its own.
    static let xmppPath = "xmpp"

    /// Oldest first.
    private(set) var all: [Fault] = []
    private var lastID = 0

    /// - Returns: the fault's id.
    mutating func add(_ source: JSONObject) throws(ControlError) -> String {
        guard all.count < Self.most else { throw ControlError("at most \(Self.most) faults") }
        let fault = try FaultReader.read(source, id: "f\(lastID + 1)")
        lastID += 1
        all.append(fault)
        return fault.id
    }

    mutating func remove(_ id: String) -> Bool {
        let before = all.count
        all.removeAll { $0.id == id }
        return all.count < before
    }

    mutating func removeAll() {
        all = []
    }

    /// The stream limit of new connections; nil without such a fault.
    var streamLimit: Int? {
        for fault in all where fault.timesLeft != 0 {
            if case .maxConcurrentStreams(let limit)? = fault.action.wire { return limit }
        }
        return nil
    }

    /// Applies the first rule that fits, and counts it.
    ///
    /// - Parameter hasToken: whether one of the request's tokens has this prefix.
    mutating func hit(path: String, random: inout SplitMix64, hasToken: (String) -> Bool) -> FaultAction? {
        for index in all.indices {
            let fault = all[index]
            guard fault.timesLeft != 0, path.hasExactPrefix(fault.path) else { continue }
            if let prefix = fault.tokenPrefix, !hasToken(prefix) { continue }
            if fault.fraction < 1, random.unit() >= fault.fraction { continue }
            all[index].hits += 1
            if let left = fault.timesLeft { all[index].timesLeft = left - 1 }
            return fault.action
        }
        return nil
    }

    /// `GET /faults`.
    var report: JSONValue {
        let list = all.map { fault -> JSONValue in
            var object = fault.source
            object["id"] = .string(fault.id)
            object["hits"] = .integer(fault.hits)
            if let left = fault.timesLeft { object["times_left"] = .integer(left) }
            return .object(object)
        }
        return .array(list)
    }
}
