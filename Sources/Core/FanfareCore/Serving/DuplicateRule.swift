internal import FanfareJSON
internal import FanfareModel

/// Decides what becomes of a request that equals an earlier one of the same key.
///
/// Google's SDKs repeat a request whose answer was lost, and one that was answered with 500 or 503, without a word that
/// says so. So each request has a record in Redis, under its fingerprint, from the step that pushes its job until its
/// answer is written. Every gateway reads it there.
///
/// | record of the earlier request | an equal request |
/// |---|---|
/// | none | is sent |
/// | `answered`: its answer was a 500 or 503 | gets that answer again, any number of times |
/// | `left`: its client left before the answer was written | takes over its job and its answer, once |
/// | `open`, of a gateway that does not live | the same |
/// | `open`, of another gateway that lives | waits for what becomes of it |
/// | `open`, of this gateway | is sent: both clients are connected |
public enum DuplicateRule {
    /// How long a record is kept.
    public static let recordMs: Int64 = 120_000

    /// What a request has become.
    public enum Record: Equatable, Sendable {
        case open(Place)
        case left(Place)
        case answered(ServedAnswer)

        public var isOpen: Bool { if case .open = self { true } else { false } }
    }

    /// The recipients of a request in a job.
    public struct Place: Equatable, Sendable {
        public var job: String
        public var indices: Range<Int64>

        public init(job: String, indices: Range<Int64>) { (self.job, self.indices) = (job, indices) }
    }

    /// A record with the name of its request.
    public struct Entry: Equatable, Sendable {
        public var request: RequestName
        public var record: Record

        public init(_ request: RequestName, _ record: Record) { (self.request, self.record) = (request, record) }
    }

    public enum Decision: Equatable, Sendable {
        case send
        case answer(ServedAnswer)
        /// Takes the entry's place, if the entry is still there.
        case takeOver(Entry, Place)
        /// Until the entries change.
        case wait
    }

    /// - Parameters:
    ///   - entries: of earlier equal requests.
    ///   - gateway: the id of this gateway.
    ///   - living: the ids of the gateways that live.
    public static func decide(_ entries: [Entry], gateway: String, living: Set<String>) -> Decision {
        var decision = Decision.send
        for entry in entries {
            switch entry.record {
            case .answered(let answer): return .answer(answer)
            case .left(let place): decision = .takeOver(entry, place)
            case .open(let place):
                if case .takeOver = decision { continue }
                if entry.request.gateway == gateway { continue }
                decision = living.contains(entry.request.gateway) ? .wait : .takeOver(entry, place)
            }
        }
        return decision
    }

    /// The bytes whose SHA-256 is a request's fingerprint.
    ///
    /// - Parameters:
    ///   - key: the name of the gateway's key.
    ///   - path: method, path and query: they tell the APIs apart, and carry what some of them ask.
    public static func identity(key: String, project: String, path: String, body: [UInt8]) -> [UInt8] {
        // No name contains a line break, so that no two requests have the same bytes.
        Array("\(key)\n\(project)\n\(path)\n".utf8) + body
    }

    /// Whether clients repeat an answer by themselves. Others are never given again: an equal request may be meant.
    public static func isRepeated(_ answer: ServedAnswer) -> Bool { answer.status == 500 || answer.status == 503 }
}

/// The name of a request: its gateway, and its number there.
public struct RequestName: Hashable, Sendable {
    public var gateway: String
    public var number: UInt64

    /// - Parameter gateway: an id without a `.`.
    public init(gateway: String, number: UInt64) { (self.gateway, self.number) = (gateway, number) }

    /// - Returns: nil for a text that is no name.
    public init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, let number = UInt64(parts[1]) else { return nil }
        self.init(gateway: String(parts[0]), number: number)
    }

    public var text: String { "\(gateway).\(number)" }
}

extension DuplicateRule.Record {
    /// As the field of a request holds it.
    public var text: [UInt8] {
        switch self {
        case .open(let place): return place.text("open")
        case .left(let place): return place.text("left")
        case .answered(let answer):
            var object: JSONObject = ["status": .number(JSONNumber(Int64(answer.status)))]
            if let type = answer.type { object["type"] = .string(type) }
            for header in answer.headers { object["header." + header.name] = .string(header.value) }
            let head = JSONValue.object(object).jsonBytes
            return Array("answered ".utf8) + head + [UInt8(ascii: "\n")] + answer.body
        }
    }

    /// - Returns: nil for a text that no gateway of this version wrote.
    public init?(_ text: [UInt8]) {
        if text.starts(with: "answered ".utf8) {
            guard let answer = Self.answer(text.dropFirst("answered ".utf8.count)) else { return nil }
            self = .answered(answer)
            return
        }
        let words = String(decoding: text.prefix(300), as: UTF8.self).split(separator: " ")
        guard words.count == 4, let first = Int64(words[2]), let end = Int64(words[3]), first >= 0, first < end,
            end - first <= Int64(Batch.maximumSize)
        else { return nil }
        let place = DuplicateRule.Place(job: String(words[1]), indices: first..<end)
        switch words[0] {
        case "open": self = .open(place)
        case "left": self = .left(place)
        default: return nil
        }
    }

    private static func answer(_ text: ArraySlice<UInt8>) -> ServedAnswer? {
        guard let end = text.firstIndex(of: UInt8(ascii: "\n")),
            let object = (try? JSONParser.parse(Array(text[..<end]), limits: JSONLimits()))?.object,
            let status = object["status"]?.number?.int64, (200...599).contains(status)
        else { return nil }
        let headers = object.members.compactMap { member -> ServedAnswer.Header? in
            guard member.key.hasPrefix("header."), let value = member.value.string else { return nil }
            return ServedAnswer.Header(String(member.key.dropFirst("header.".count)), value)
        }
        let body = Array(text[(end + 1)...])
        return ServedAnswer(status: Int(status), type: object["type"]?.string, body: body, headers: headers)
    }
}

extension DuplicateRule.Place {
    fileprivate func text(_ state: String) -> [UInt8] {
        Array("\(state) \(job) \(indices.lowerBound) \(indices.upperBound)".utf8)
    }
}
