import FCMSimulator
import FanfareJSON
import FanfareXML
import Testing

/// A simulator seen through XMPP connections, with everything it wants written.
struct XMPPTrial {
    static let client = "jabber:client"
    static let sasl = "urn:ietf:params:xml:ns:xmpp-sasl"
    static let data = "google:mobile:data"

    var trial = Trial()
    private var written: [UInt64: String] = [:]
    private(set) var closed: Set<UInt64> = []
    private(set) var paused: Set<UInt64> = []

    init(quotaPerMinute: Int = 600_000) {
        trial = Trial(quotaPerMinute: quotaPerMinute)
    }

    // MARK: The client's side

    mutating func open() throws -> UInt64 {
        let id = trial.simulator.openXMPP()
        return try #require(id)
    }

    mutating func receive(_ event: XMLStreamEvent, on id: UInt64) {
        trial.simulator.receiveXMPP(event, on: id, nowMs: trial.nowMs)
        fetch()
    }

    mutating func header(on id: UInt64, to: String = "gcm.googleapis.com", version: String = "1.0") {
        let name = XMLName("stream", in: "http://etherx.jabber.org/streams")
        receive(.opened(name, attributes: ["to": to, "version": version]), on: id)
    }

    mutating func auth(_ text: String, mechanism: String = "PLAIN", on id: UInt64) {
        let element = XMLElement(
            XMLName("auth", in: Self.sasl),
            attributes: ["mechanism": mechanism],
            children: [.text(text)]
        )
        receive(.element(element), on: id)
    }

    static func plain(_ user: String, _ key: String) -> String {
        let text = TokenText.base64("\0\(user)\0\(key)").replacing("-", with: "+").replacing("_", with: "/")
        return text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    }

    mutating func bind(on id: UInt64, resource: String? = nil) {
        let inside = resource.map { XMLElement(XMLName("resource", in: XMPPTrial.bindSpace), children: [.text($0)]) }
        let bind = XMLElement(
            XMLName("bind", in: Self.bindSpace),
            children: inside.map { [.element($0)] } ?? []
        )
        query(bind, on: id)
    }

    static let bindSpace = "urn:ietf:params:xml:ns:xmpp-bind"

    mutating func query(_ inside: XMLElement, type: String = "set", on id: UInt64) {
        let iq = XMLElement(
            XMLName("iq", in: Self.client),
            attributes: ["type": type, "id": "q1"],
            children: [.element(inside)]
        )
        receive(.element(iq), on: id)
    }

    /// A connection that is ready for messages.
    mutating func login(_ project: SimulatedProject = Trial.project) throws -> UInt64 {
        let id = try open()
        header(on: id)
        auth(Self.plain(project.senderID + "@gcm.googleapis.com", project.serverKey), on: id)
        header(on: id)
        bind(on: id)
        let all = text(on: id)
        try #require(all.contains("<jid>\(project.senderID)@gcm.googleapis.com/"), "\(all)")
        return id
    }

    mutating func message(_ json: String, stanza: String = "", on id: UInt64) {
        let gcm = XMLElement(XMLName("gcm", in: Self.data), children: [.text(json)])
        let message = XMLElement(
            XMLName("message", in: Self.client),
            attributes: ["id": stanza],
            children: [.element(gcm)]
        )
        receive(.element(message), on: id)
    }

    /// Sends and returns what came back, as JSON.
    mutating func send(_ json: String, on id: UInt64) throws -> [JSONObject] {
        message(json, on: id)
        return try messages(on: id)
    }

    mutating func leave(_ id: UInt64) {
        trial.simulator.closedXMPP(id, nowMs: trial.nowMs)
        fetch()
    }

    @discardableResult
    mutating func control(_ method: String, _ target: String, _ body: String = "") -> SimulatorReply {
        defer { fetch() }
        return trial.control(method, target, body)
    }

    mutating func pass(_ milliseconds: Int64) {
        trial.nowMs += milliseconds
        trial.simulator.tick(nowMs: trial.nowMs)
        fetch()
    }

    mutating func statistic(_ name: String) throws -> Int64 {
        let stats = try control("GET", "/stats").json()
        return try #require(stats["xmpp"]?.object?[name]?.number?.int64)
    }

    // MARK: What came back

    private mutating func fetch() {
        for output in trial.simulator.removeXMPPOutput() {
            switch output.action {
            case .write(let bytes): written[output.connection, default: ""] += String(decoding: bytes, as: UTF8.self)
            case .close: closed.insert(output.connection)
            case .pauseReading: paused.insert(output.connection)
            case .resumeReading: paused.remove(output.connection)
            case .restart: break
            }
        }
    }

    /// Everything written since the last call.
    mutating func text(on id: UInt64) -> String {
        written.removeValue(forKey: id) ?? ""
    }

    /// The JSON of every message written since the last call.
    mutating func messages(on id: UInt64) throws -> [JSONObject] {
        let mark = "<gcm xmlns=\"google:mobile:data\">"
        let parts = text(on: id).split(separator: "<message ").map(String.init)
        return try parts.compactMap { part -> JSONObject? in
            guard let start = part.firstRange(of: mark), let end = part.firstRange(of: "</gcm>") else { return nil }
            var json = String(part[start.upperBound..<end.lowerBound])
            for (name, sign) in [("&quot;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&apos;", "'"), ("&amp;", "&")] {
                json = json.replacing(name, with: sign)
            }
            return try JSONParser.parse(Array(json.utf8)).object
        }
    }
}
