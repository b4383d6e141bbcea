internal import FanfareJSON
public import FanfareModel

/// A message prepared once: a send only inserts its recipient, without JSON work.
public struct RequestTemplate: Sendable {
    /// The message's time to live; nil without one.
    public let lifetime: MessageLifetime?
    private let isV1: Bool
    /// Bytes of the request after the target.
    let tail: [UInt8]
    /// The part of `tail` that depends on the time of the attempt; nil when there is none.
    let expiration: ExpirationSlot?

    /// Where `apns-expiration` is written: at `offset` of `tail`, between its quotes.
    struct ExpirationSlot: Equatable, Sendable {
        var offset: Int
        var ttlSeconds: Int64

        /// The value at this time, in Unix milliseconds: the moment in seconds, or 0 for a TTL of 0.
        func text(nowMs: Int64) -> String { String(ttlSeconds == 0 ? 0 : nowMs / 1_000 + ttlSeconds) }
    }

    /// Translates between the formats where transport and format differ.
    ///
    /// - Throws: when the message has no counterpart on the transport.
    public init(_ source: SourceMessage, transport: Transport) throws(TranslationError) {
        lifetime = source.lifetime
        isV1 = transport == .v1
        if transport == .v1 {
            (tail, expiration) = try Self.v1Tail(source)
        } else {
            expiration = nil
            tail = try source.legacy(.json).memberBytes + [UInt8(ascii: "}")]
        }
    }

    /// Appends the request for one recipient, which intake has checked. A topic comes without `/topics/`; an
    /// installation id travels over v1 only and is written as a legacy `to` otherwise.
    public func render(kind: RecipientKind, recipient: String, nowMs: Int64, into body: inout [UInt8]) {
        Self.appendHead(isV1: isV1, kind: kind, recipient: recipient, tailCount: tail.count, to: &body)
        appendTail(nowMs: nowMs, to: &body)
    }

    /// Appends what precedes the tail: the target.
    ///
    /// - Parameter tailCount: bytes that will follow; room is reserved for them.
    static func appendHead(
        isV1: Bool,
        kind: RecipientKind,
        recipient: String,
        tailCount: Int,
        to body: inout [UInt8]
    ) {
        body.reserveCapacity(body.count + tailCount + recipient.utf8.count + 48)
        if isV1 {
            body.append(contentsOf: v1Head)
            body.append(contentsOf: v1Names[kind] ?? [])
        } else {
            body.append(contentsOf: kind == .condition ? conditionHead : toHead)
        }
        body.appendJSONString(kind == .topic && !isV1 ? "/topics/" + recipient : recipient)
    }

    /// Appends one legacy request for at most 1,000 tokens, in their order. Each must obey the rules for tokens,
    /// because it is written without escapes.
    public func renderMulticast(
        _ tokens: some RandomAccessCollection<SharedText>,
        nowMs: Int64,
        into body: inout [UInt8]
    ) {
        precondition(!isV1, "only legacy takes many tokens in one request")
        let each = tokens.first.map { $0.count + 16 } ?? 0
        body.reserveCapacity(body.count + Self.multicastHead.count + tokens.count * each + tail.count + 32)
        body.append(contentsOf: Self.multicastHead)
        var isFirst = true
        for token in tokens {
            assert(token.bytes.isPlainJSON, "invalid tokens were refused")
            body.append(addingCapacity: token.count + 3) { span in
                if !isFirst { span.append(UInt8(ascii: ",")) }
                span.append(UInt8(ascii: "\""))
                span.put(token)
                span.append(UInt8(ascii: "\""))
            }
            isFirst = false
        }
        body.append(UInt8(ascii: "]"))
        appendTail(nowMs: nowMs, to: &body)
    }

    private func appendTail(nowMs: Int64, to body: inout [UInt8]) {
        guard let expiration else { return body.append(contentsOf: tail) }
        body.append(contentsOf: tail[..<expiration.offset])
        body.append(contentsOf: expiration.text(nowMs: nowMs).utf8)
        body.append(contentsOf: tail[expiration.offset...])
    }

    private static let v1Head = Array(#"{"message":{"#.utf8)
    private static let toHead = Array(#"{"to":"#.utf8)
    private static let conditionHead = Array(#"{"condition":"#.utf8)
    private static let multicastHead = Array(#"{"registration_ids":["#.utf8)
    /// A device group is addressed as a token.
    private static let v1Names = Dictionary(
        uniqueKeysWithValues: RecipientKind.allCases.map { kind in
            (kind, Array("\"\(kind == .group ? "token" : kind.rawValue)\":".utf8))
        }
    )
}

extension RequestTemplate {
    private static func v1Tail(_ source: SourceMessage) throws(TranslationError) -> ([UInt8], ExpirationSlot?) {
        var message = source.object
        var isDryRun = false
        var ttlSeconds: Int64?
        if source.options.format == .legacy {
            let translated = try LegacyToV1.translate(message)
            (message, isDryRun, ttlSeconds) = (translated.message, translated.isDryRun, translated.ttlSeconds)
        }
        if source.options.delivery == .replace { ReplaceMarks.addV1(to: &message, jobID: source.options.jobID) }
        if ttlSeconds != nil { Self.moveExpirationLast(in: &message) }
        var tail = message.memberBytes
        tail.append(UInt8(ascii: "}"))
        // The message now ends in `"apns-expiration":""}}}`: the slot is between those two quotes.
        let slot = ttlSeconds.map { ExpirationSlot(offset: tail.count - 4, ttlSeconds: $0) }
        if source.options.validateOnly || isDryRun { tail.append(contentsOf: #","validateOnly":true"#.utf8) }
        tail.append(UInt8(ascii: "}"))
        return (tail, slot)
    }

    private static func moveExpirationLast(in message: inout JSONObject) {
        guard var apns = message["apns"]?.object, var headers = apns["headers"]?.object else {
            preconditionFailure("a translated message with a TTL has APNs headers")
        }
        headers["apns-expiration"] = nil
        headers["apns-expiration"] = ""
        apns["headers"] = nil
        apns["headers"] = .object(headers)
        message["apns"] = nil
        message["apns"] = .object(apns)
    }
}

extension JSONObject {
    /// The members, each after a comma: they follow the target.
    var memberBytes: [UInt8] {
        var bytes: [UInt8] = []
        for member in members {
            bytes.append(UInt8(ascii: ","))
            bytes.appendJSONString(member.key)
            bytes.append(UInt8(ascii: ":"))
            bytes.appendJSON(member.value)
        }
        return bytes
    }
}
