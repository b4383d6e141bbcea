internal import FanfareJSON
public import FanfareModel

/// A message prepared once as a legacy plain-text request, `application/x-www-form-urlencoded;charset=UTF-8`, for one
/// token at a time. Such a request has five options: `collapse_key`, `time_to_live`, `restricted_package_name`,
/// `dry_run` and `data.<key>`.
public struct PlainTextTemplate: Sendable {
    /// The `Content-Type` of the requests.
    public static let contentType = "application/x-www-form-urlencoded;charset=UTF-8"

    /// Time to live that the message asks for; nil when it asks for none.
    public let lifetime: MessageLifetime?
    /// Bytes of the request behind the token.
    private let tail: [UInt8]

    /// - Throws: naming the first field that has no counterpart in plain text, such as `message.notification`.
    public init(
        message: [UInt8],
        format: MessageFormat,
        validateOnly: Bool,
        delivery: DeliveryMode,
        jobID: String
    ) throws(TranslationError) {
        let source = try SourceMessage(message, format: format)
        lifetime = source.lifetime
        let body = try source.legacy(.text, validateOnly: validateOnly, delivery: delivery, jobID: jobID)
        var tail: [UInt8] = []
        for member in body.members {
            if let data = member.value.object, member.key == "data" {
                // Legacy data has been made text by now, and v1 data is text by its own rule.
                for entry in data.members {
                    guard let text = entry.value.string else {
                        throw TranslationError(["data", entry.key], "must be a string, not \(entry.value.kindName)")
                    }
                    tail.appendField("data." + entry.key, text)
                }
            } else if let text = try Self.text(member) {
                tail.appendField(member.key, text)
            }
        }
        self.tail = tail
    }

    /// The lifetime of a recipient that was first tried at this moment (Unix milliseconds): 0 allows one attempt, nil
    /// sets no limit.
    public func lifetimeMs(firstAttemptMs: Int64) -> Int64? {
        lifetime?.milliseconds(firstAttemptMs: firstAttemptMs)
    }

    /// Appends the request for one token.
    public func render(token: String, into body: inout [UInt8]) {
        body.reserveCapacity(body.count + tail.count + token.utf8.count + 64)
        body.append(contentsOf: Self.head)
        body.appendPercentEncoded(token)
        body.append(contentsOf: tail)
    }

    private static let head = Array("registration_id=".utf8)

    /// An option as text; nil for one that says no more than its absence.
    private static func text(_ member: JSONObject.Member) throws(TranslationError) -> String? {
        switch member.key {
        case "time_to_live":
            guard let seconds = member.value.number?.wholeInt64, (0...2_419_200).contains(seconds) else {
                throw TranslationError([member.key], "must be an integer from 0 to 2419200")
            }
            return String(seconds)
        case "dry_run":
            guard let flag = member.value.bool else {
                throw TranslationError([member.key], "must be a boolean, not \(member.value.kindName)")
            }
            return flag ? "true" : nil
        default:
            guard let text = member.value.string else {
                throw TranslationError([member.key], "must be a string, not \(member.value.kindName)")
            }
            return text
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
