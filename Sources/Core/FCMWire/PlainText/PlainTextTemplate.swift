internal import FanfareJSON

/// A message prepared once as a legacy plain-text request, `application/x-www-form-urlencoded;charset=UTF-8`, for one
/// token at a time. Such a request has five options: `collapse_key`, `time_to_live`, `restricted_package_name`,
/// `dry_run` and `data.<key>`.
public struct PlainTextTemplate: Sendable {
    /// The message's time to live; nil without one.
    public let lifetime: MessageLifetime?
    /// Bytes of the request after the token.
    let tail: [UInt8]

    /// - Throws: naming the first field that has no counterpart in plain text, such as `message.notification`.
    public init(_ source: SourceMessage) throws(TranslationError) {
        lifetime = source.lifetime
        var tail: [UInt8] = []
        for member in try source.legacy(.text).members {
            if let data = member.value.object, member.key == "data" {
                // Values of legacy data are strings by now; v1 allows no others.
                for entry in data.members {
                    tail.appendField("data." + entry.key, try entry.value.requireString(at: ["data", entry.key]))
                }
            } else if let text = try Self.text(member) {
                tail.appendField(member.key, text)
            }
        }
        self.tail = tail
    }

    /// Appends the request for one token.
    public func render(token: String, into body: inout [UInt8]) {
        Self.appendHead(token: token, tailCount: tail.count, to: &body)
        body.append(contentsOf: tail)
    }

    /// Appends what precedes the tail: the token.
    ///
    /// - Parameter tailCount: bytes that will follow; room is reserved for them.
    static func appendHead(token: String, tailCount: Int, to body: inout [UInt8]) {
        body.reserveCapacity(body.count + tailCount + token.utf8.count + 64)
        body.append(contentsOf: head)
        body.appendPercentEncoded(token)
    }

    private static let head = Array("registration_id=".utf8)

    /// An option as text; nil for one whose value is the default.
    private static func text(_ member: JSONObject.Member) throws(TranslationError) -> String? {
        switch member.key {
        case "time_to_live": return String(try member.value.requireSeconds(at: [member.key]))
        case "dry_run": return try member.value.requireBool(at: [member.key]) ? "true" : nil
        default: return try member.value.requireString(at: [member.key])
        }
    }
}

extension [UInt8] {
    fileprivate mutating func appendField(_ name: String, _ value: String) {
        append(UInt8(ascii: "&"))
        appendPercentEncoded(name)
        append(UInt8(ascii: "="))
        appendPercentEncoded(value)
    }
}
