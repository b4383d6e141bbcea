internal import FanfareClient
internal import FanfareCore
internal import FanfareHTTP
internal import FanfareModel
internal import StreamWire

/// Writes and deletes audiences: lists of Redis that jobs name.
///
/// An audience is written in pieces to a draft that expires, and appears whole or not at all.
struct AudienceRoute: Sendable {
    /// Of an audience, inflated.
    static var maximumBytes: Int { 1 << 30 }
    private static var pieceElements: Int { 1_000 }
    private static var pieceBytes: Int { 1 << 20 }
    private static var draftMs: Int64 { 600_000 }

    let redis: CountedRedis
    let newID: @Sendable () -> String

    /// - Parameter body: nil for a request whose body was not read.
    /// - Throws: a `ProblemDetails`, or the error of Redis.
    func answer(_ request: WebRequest, _ body: RequestBody?, _ audience: StoredAudience) async throws -> WebReply {
        let query = try QueryParameters(request.queryText, request.method == "PUT" ? ["expires"] : [])
        guard request.method == "PUT" else {
            let count = try await redis.reply(to: RedisCommand("DEL", audience.key)).integer
            guard count == 1 else { throw ProblemDetails(404, "There is no audience of this name.") }
            return WebReply(status: 204, type: nil)
        }
        let seconds = try query.number("expires", in: StoredAudience.expiries) ?? StoredAudience.usualExpiry
        let type = request.headers["content-type"]?.prefix { $0 != ";" && $0 != " " }.lowercased()
        let forms: [String: AudienceReader.Form] = ["application/x-ndjson": .ndjson, "text/csv": .csv]
        let refusal = request.bodyRefusal(Self.maximumBytes)
        guard let form = forms[type ?? ""], refusal != .mediaType else {
            let types = "NDJSON (application/x-ndjson) or CSV (text/csv)"
            throw ProblemDetails(415, "An audience is \(types), as it is or with gzip.")
        }
        guard let body else { return WebReply((refusal ?? .tooLarge(maximumBytes: Self.maximumBytes)).problem) }
        let draft = audience.draft(newID())
        do {
            return try await store(body, form, audience, draft, expirySeconds: seconds)
        } catch {
            // The task may be cancelled.
            await Task { [redis] in _ = try? await redis.reply(to: RedisCommand("DEL", draft)) }.value
            switch error {
            case let fault as AudienceReader.Fault: throw ProblemDetails(fault)
            case BodyFault.tooLarge: return WebReply(GatewayError.tooLarge(maximumBytes: Self.maximumBytes).problem)
            case BodyFault.coding(let fault): return WebReply(GatewayError.malformedBody(fault).problem)
            case BodyFault.left: return .unavailable("The client is gone.")
            default: throw error
            }
        }
    }

    // MARK: Writing

    private func store(
        _ body: RequestBody,
        _ form: AudienceReader.Form,
        _ audience: StoredAudience,
        _ draft: String,
        expirySeconds: Int64
    ) async throws -> WebReply {
        var reader = AudienceReader(form)
        var elements: [[UInt8]] = []
        var (count, waiting) = (0, 0)
        while let piece = try await body.next() {
            try reader.feed(piece, into: &elements)
            waiting += piece.count
            guard elements.count >= Self.pieceElements || waiting >= Self.pieceBytes else { continue }
            try await push(&elements, to: draft, &count)
            waiting = 0
        }
        try reader.finish(into: &elements)
        try await push(&elements, to: draft, &count)
        let existed = try await redis.reply(to: RedisCommand("EXISTS", audience.key)).integer == 1
        _ = try await redis.reply(to: RedisCommand("PEXPIRE", draft, "\(expirySeconds * 1_000)"))
        _ = try await redis.reply(to: RedisCommand("RENAME", draft, audience.key))
        let format = reader.format ?? .token
        return WebReply(audience.stored(format, count: count, expirySeconds: expirySeconds, isNew: !existed))
    }

    /// Appends the elements to the draft, and empties them.
    private func push(_ elements: inout [[UInt8]], to draft: String, _ count: inout Int) async throws {
        var rest = elements[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Self.pieceElements)
            rest = rest.dropFirst(piece.count)
            var command = RedisCommand("RPUSH", draft)
            for element in piece { command.append(element) }
            count += piece.count
            let length = try await redis.reply(to: command).integer
            guard length == Int64(count) else { throw DraftLost() }
            _ = try await redis.reply(to: RedisCommand("PEXPIRE", draft, "\(Self.draftMs)"))
        }
        elements.removeAll(keepingCapacity: true)
    }
}

/// The draft expired, or a part of it was written twice.
private struct DraftLost: Error, CustomStringConvertible {
    var description: String { "The draft of an audience is not as it was written." }
}
