internal import FanfareJSON

extension Message {
    /// The message as compact JSON, as the field `message` of a job holds it.
    public var jsonBytes: [UInt8] { JSONValue.object(json).jsonBytes }

    /// As ``jsonBytes``, as text.
    public var jsonText: String { String(decoding: jsonBytes, as: UTF8.self) }
}

/// A message or a part of one: an object in its JSON.
protocol MessagePart {
    var json: JSONObject { get }
}

/// Collects the members of a message part. A nil value is no member.
struct MemberWriter {
    private(set) var object = JSONObject()

    mutating func add(_ name: String, _ value: JSONValue?) {
        if let value { object.members.append(JSONObject.Member(key: name, value: value)) }
    }

    mutating func add(_ name: String, _ value: String?) { add(name, value.map { .string($0) }) }
    mutating func add(_ name: String, _ value: Bool?) { add(name, value.map { .bool($0) }) }
    mutating func add(_ name: String, _ value: Int32?) { add(name, value.map { .number(JSONNumber(Int64($0))) }) }
    mutating func add(_ name: String, _ value: Duration?) { add(name, value.map { .string(Self.text($0)) }) }
    mutating func add(_ name: String, _ value: JSONObject?) { add(name, value.map { .object($0) }) }

    /// A number that JSON does not have becomes a text, so that the worker's reason names the field.
    mutating func add(_ name: String, _ value: Double?) {
        guard let value else { return }
        add(name, JSONNumber(value).map { .number($0) } ?? .string(value.description))
    }

    mutating func add(_ name: String, _ values: [String]?) {
        add(name, values.map { .array($0.map { .string($0) }) })
    }

    mutating func add(_ name: String, _ values: [Duration]?) {
        add(name, values.map { .array($0.map { .string(Self.text($0)) }) })
    }

    /// Ordered by key, so that equal messages have equal bytes.
    mutating func add(_ name: String, _ values: [String: String]?) {
        add(
            name,
            values.map { values in
                let members = values.sorted { $0.key < $1.key }
                return .object(JSONObject(members.map { JSONObject.Member(key: $0.key, value: .string($0.value)) }))
            }
        )
    }

    mutating func add(_ name: String, _ value: (some RawRepresentable<String>)?) { add(name, value?.rawValue) }
    mutating func add(_ name: String, _ value: (some MessagePart)?) { add(name, value?.json) }

    /// Adds members as they are; a member replaces a typed one of the same name.
    mutating func add(additional: JSONObject) {
        for member in additional.members { object[member.key] = member.value }
    }

    /// `3.5s`: at most nine decimals, without trailing zeros. What is finer than a nanosecond is cut off.
    static func text(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let nanoseconds = (attoseconds / 1_000_000_000).magnitude
        let sign = seconds < 0 || attoseconds < 0 ? "-" : ""
        guard nanoseconds > 0 else { return "\(sign)\(seconds.magnitude)s" }
        var digits = String(nanoseconds)
        digits = String(repeating: "0", count: max(0, 9 - digits.count)) + digits
        while digits.last == "0" { digits.removeLast() }
        return "\(sign)\(seconds.magnitude).\(digits)s"
    }
}
