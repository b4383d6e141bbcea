import FCMSimulator
import FanfareJSON
import Testing

/// A simulator with a clock that only moves when told, and short ways to ask it.
struct Trial {
    static let project = SimulatedProject(
        id: "demo",
        senderID: "123456789012",
        serverKey: "AAAAdemo:APA91bServerKey",
        serviceAccountEmail: "sender@demo.example"
    )
    static let other = SimulatedProject(
        id: "other",
        senderID: "210987654321",
        serverKey: "AAAAother:APA91bServerKey",
        serviceAccountEmail: "sender@other.example"
    )

    var simulator: Simulator
    var nowMs: Int64 = 1_800_000_000_000
    var authorization: String?

    init(
        bareErrors: Bool = false,
        observedLegacyErrors: Bool = false,
        quotaPerMinute: Int = 600_000,
        seed: UInt64 = 7,
        deliveryLimit: Int = 100_000,
        fanoutRate: Int = 10_000,
        defersFanouts: Bool = false
    ) {
        var configuration = SimulatorConfiguration(projects: [Self.project, Self.other])
        configuration.seed = seed
        configuration.quotaPerMinute = quotaPerMinute
        configuration.bareErrors = bareErrors
        configuration.observedLegacyErrors = observedLegacyErrors
        configuration.deliveryLimit = deliveryLimit
        configuration.fanoutRate = fanoutRate
        configuration.defersFanouts = defersFanouts
        configuration.tokenAudiences = ["https://localhost:1/token"]
        simulator = Simulator(configuration: configuration)
        let token = "ya29.trial"
        _ = self.exchange(TokenText.body(nowMs: nowMs), newToken: token)
        authorization = "Bearer " + token
    }

    mutating func exchange(
        _ body: String,
        isSignatureValid: Bool = true,
        newToken: String = "ya29.next"
    ) -> SimulatorReply {
        let read = ReadRequest(SimulatorRequest(method: "POST", path: "/token", body: Array(body.utf8)))
        return simulator.respond(to: read, nowMs: nowMs, newToken: isSignatureValid ? newToken : nil)
    }

    mutating func v1(_ body: String, project: String = "demo") -> SimulatorReply {
        let request = SimulatorRequest(
            method: "POST",
            path: "/v1/projects/\(project)/messages:send",
            authorization: authorization,
            contentType: "application/json",
            body: Array(body.utf8)
        )
        return simulator.respond(to: ReadRequest(request), nowMs: nowMs)
    }

    /// One v1 send of a small message to this token.
    mutating func send(_ token: String) -> SimulatorReply {
        v1(#"{"message":{"token":"\#(token)","data":{"k":"v"}}}"#)
    }

    mutating func legacy(
        _ body: String,
        key: String? = Trial.project.serverKey,
        contentType: String? = "application/json",
        projectIDHeader: String? = nil
    ) -> SimulatorReply {
        let request = SimulatorRequest(
            method: "POST",
            path: "/fcm/send",
            authorization: key.map { "key=" + $0 },
            contentType: contentType,
            projectIDHeader: projectIDHeader,
            body: Array(body.utf8)
        )
        return simulator.respond(to: ReadRequest(request), nowMs: nowMs)
    }

    /// One v1 send to a topic.
    @discardableResult
    mutating func send(topic: String, project: String = "demo") -> SimulatorReply {
        v1(#"{"message":{"topic":"\#(topic)","data":{"k":"v"}}}"#, project: project)
    }

    /// A change of subscriptions, `batchAdd` or `batchRemove`.
    mutating func topics(
        _ operation: String,
        _ body: String,
        authorization: String? = "own",
        accessTokenAuth: Bool = true
    ) -> SimulatorReply {
        let request = SimulatorRequest(
            method: "POST",
            path: "/iid/v1:" + operation,
            authorization: authorization == "own" ? self.authorization : authorization,
            contentType: "application/json",
            accessTokenAuth: accessTokenAuth,
            body: Array(body.utf8)
        )
        return simulator.respond(to: ReadRequest(request), nowMs: nowMs)
    }

    /// The fan-outs in the order of their acceptance.
    mutating func fanouts(_ query: String = "") throws -> [JSONObject] {
        try control("GET", "/fanouts" + query).text.split(separator: "\n").map { line in
            try #require(try JSONParser.parse(Array(line.utf8)).object)
        }
    }

    /// Milliseconds from the acceptance of each fan-out to its end; nil while it is under way.
    mutating func fanoutTimes() throws -> [Int64?] {
        try fanouts().map { fanout in
            let accepted = try #require(fanout["accepted_ms"]?.number?.int64)
            return fanout["finished_ms"]?.number?.int64.map { $0 - accepted }
        }
    }

    @discardableResult
    mutating func control(_ method: String, _ target: String, _ body: String = "") -> SimulatorReply {
        let parts = target.split(separator: "?", maxSplits: 1)
        return simulator.control(
            SimulatorRequest(
                method: method,
                path: String(parts[0]),
                query: parts.count > 1 ? String(parts[1]) : "",
                body: Array(body.utf8)
            ),
            nowMs: nowMs
        )
    }

    mutating func statistic(_ name: String) throws -> Int64 {
        let stats = try control("GET", "/stats").json()
        return try #require(stats[name]?.number?.int64)
    }

    mutating func deliveries(_ token: String) throws -> [JSONObject] {
        try control("GET", "/deliveries?token=" + token).text.split(separator: "\n").map { line in
            try #require(try JSONParser.parse(Array(line.utf8)).object)
        }
    }
}

extension SimulatorReply {
    var text: String { String(decoding: body, as: UTF8.self) }

    func json() throws -> JSONObject {
        try #require(try JSONParser.parse(body).object)
    }

    func header(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }

    func error() throws -> JSONObject {
        try #require(try json()["error"]?.object)
    }

    /// The detail whose type ends so; nil when the error has none.
    func detail(_ suffix: String) throws -> JSONObject? {
        try error()["details"]?.array?.compactMap(\.object).first { detail in
            detail["@type"]?.string?.hasSuffix(suffix) ?? false
        }
    }

    func fcmError() throws -> String? {
        try detail("FcmError")?["errorCode"]?.string
    }

    /// The fields that BadRequest names.
    func violatedFields() throws -> [String] {
        try detail("BadRequest")?["fieldViolations"]?.array?.compactMap { $0.object?["field"]?.string } ?? []
    }

    /// The legacy results as short words: the error, or `ok`, or `ok>canonical`.
    func results() throws -> [String] {
        let list = try #require(try json()["results"]?.array)
        return list.compactMap(\.object).map { result in
            result["error"]?.string ?? result["registration_id"]?.string.map { "ok>" + $0 } ?? "ok"
        }
    }
}

/// Assertions for the token endpoint; their signature is whatever the test says of it.
enum TokenText {
    static func body(
        nowMs: Int64,
        issuer: String = Trial.project.serviceAccountEmail,
        audience: String = "https://localhost:1/token",
        scope: String = "https://www.googleapis.com/auth/firebase.messaging",
        issuedAgo: Int64 = 0,
        lifetime: Int64 = 3_600,
        algorithm: String = "RS256"
    ) -> String {
        let issued = nowMs / 1_000 - issuedAgo
        let claims =
            #"{"iss":"\#(issuer)","aud":"\#(audience)","scope":"\#(scope)","#
            + #""iat":\#(issued),"exp":\#(issued + lifetime)}"#
        let assertion = base64(#"{"alg":"\#(algorithm)","typ":"JWT"}"#) + "." + base64(claims) + ".c2ln"
        return "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=" + assertion
    }

    static func base64(_ text: String) -> String {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let bytes = Array(text.utf8)
        var result = ""
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var bits = group.reduce(0) { $0 << 8 | Int($1) }
            bits <<= 8 * (3 - group.count)
            for index in 0...group.count { result.append(letters[bits >> (18 - 6 * index) & 63]) }
        }
        return result
    }
}
