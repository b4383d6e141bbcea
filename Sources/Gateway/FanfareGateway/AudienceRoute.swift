internal import FanfareClient
internal import FanfareCore
internal import FanfareHTTP
internal import FanfareModel
internal import Logging
internal import StreamWire

/// Writes and deletes audiences: lists of Redis that jobs name.
///
/// An audience is written in pieces to a draft that expires, and appears whole or not at all.
struct AudienceRoute<Redis: RedisSending>: Sendable {
    /// Of an audience, inflated.
    static var maximumBytes: Int { 1 << 30 }
    private static var pieceElements: Int { 1_000 }
    private static var pieceBytes: Int { 1 << 20 }
    private static var draftMs: Int64 { 600_000 }

    let redis: Redis
    let served: ServedProjects<Redis>
    let newID: @Sendable () -> String
    let logger: Logger

    /// - Parameter body: nil for a request whose body was not read.
    func answer(_ request: WebRequest, _ path: AudiencePath, _ body: RequestBody?) async -> ServedAnswer {
        guard path.isNameValid else { return AudienceAnswer.wrongName }
        do {
            guard try await served.contains(path.project) else {
                return AudienceAnswer.refusal(.project(path.project))
            }
            guard request.method == "PUT" else {
                let count = try await redis.reply(to: RedisCommand("DEL", path.key)).integer
                return AudienceAnswer.deleted(existed: count == 1)
            }
        } catch {
            return unavailable(error)
        }
        let type = request.headers["content-type"]?.prefix { $0 != ";" && $0 != " " }.lowercased()
        let forms: [String: AudienceReader.Form] = ["application/x-ndjson": .ndjson, "text/csv": .csv]
        guard let form = forms[type ?? ""] else { return AudienceAnswer.wrongType }
        guard let seconds = Self.expirySeconds(request) else { return AudienceAnswer.wrongExpiry }
        if let refusal = request.bodyRefusal(Self.maximumBytes) {
            return refusal == .mediaType ? AudienceAnswer.wrongType : AudienceAnswer.refusal(refusal)
        }
        guard let body else { return AudienceAnswer.refusal(.tooLarge(maximumBytes: Self.maximumBytes)) }
        let draft = path.draft(newID())
        do throws(AudienceEnding) {
            return try await store(body, form, path, draft, expirySeconds: seconds)
        } catch {
            // The task may be cancelled.
            await Task { [redis] in _ = try? await redis.reply(to: RedisCommand("DEL", draft)) }.value
            switch error {
            case .line(let fault): return AudienceAnswer.fault(fault)
            case .body(.tooLarge): return AudienceAnswer.refusal(.tooLarge(maximumBytes: Self.maximumBytes))
            case .body(.coding(let fault)): return AudienceAnswer.refusal(.malformedBody(fault))
            case .body(.left): return AudienceAnswer.refusal(.unavailable("The client is gone.", retryAfterMs: 1_000))
            case .redis(let error): return unavailable(error)
            }
        }
    }

    private static func expirySeconds(_ request: WebRequest) -> Int64? {
        guard let text = request.query["expires"] else { return AudienceAnswer.usualExpiry }
        return Int64(text).flatMap { AudienceAnswer.expiries.contains($0) ? $0 : nil }
    }

    private func unavailable(_ error: any Error) -> ServedAnswer {
        logger.warning("Redis did not answer.", metadata: ["error": "\(error)"])
        return AudienceAnswer.refusal(.unavailable("Redis is away.", retryAfterMs: .random(in: 1_000...3_000)))
    }

    // MARK: Writing

    private func store(
        _ body: RequestBody,
        _ form: AudienceReader.Form,
        _ path: AudiencePath,
        _ draft: String,
        expirySeconds: Int64
    ) async throws(AudienceEnding) -> ServedAnswer {
        var reader = AudienceReader(form)
        var elements: [[UInt8]] = []
        var (count, waiting) = (0, 0)
        while let piece = try await next(body) {
            do throws(AudienceReader.Fault) { try reader.feed(piece, into: &elements) } catch { throw .line(error) }
            waiting += piece.count
            guard elements.count >= Self.pieceElements || waiting >= Self.pieceBytes else { continue }
            try await push(&elements, to: draft, &count)
            waiting = 0
        }
        do throws(AudienceReader.Fault) { try reader.finish(into: &elements) } catch { throw .line(error) }
        try await push(&elements, to: draft, &count)
        do {
            let existed = try await redis.reply(to: RedisCommand("EXISTS", path.key)).integer == 1
            _ = try await redis.reply(to: RedisCommand("PEXPIRE", draft, "\(expirySeconds * 1_000)"))
            _ = try await redis.reply(to: RedisCommand("RENAME", draft, path.key))
            return AudienceAnswer.stored(
                path,
                reader.format ?? .token,
                count: count,
                expirySeconds: expirySeconds,
                isNew: !existed
            )
        } catch {
            throw .redis(error)
        }
    }

    private func next(_ body: RequestBody) async throws(AudienceEnding) -> [UInt8]? {
        do throws(BodyFault) { return try await body.next() } catch { throw .body(error) }
    }

    /// Appends the elements to the draft, and empties them.
    private func push(_ elements: inout [[UInt8]], to draft: String, _ count: inout Int) async throws(AudienceEnding) {
        var rest = elements[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Self.pieceElements)
            rest = rest.dropFirst(piece.count)
            var command = RedisCommand("RPUSH", draft)
            for element in piece { command.append(element) }
            count += piece.count
            do {
                let length = try await redis.reply(to: command).integer
                guard length == Int64(count) else { throw DraftLost() }
                _ = try await redis.reply(to: RedisCommand("PEXPIRE", draft, "\(Self.draftMs)"))
            } catch {
                throw .redis(error)
            }
        }
        elements.removeAll(keepingCapacity: true)
    }
}

/// The draft expired, or a part of it was written twice.
private struct DraftLost: Error, CustomStringConvertible {
    var description: String { "The draft of an audience is not as it was written." }
}

/// Why an audience is not written. In the generic type, it makes the optimiser of Swift 6.3 fail.
private enum AudienceEnding: Error {
    case body(BodyFault)
    case line(AudienceReader.Fault)
    case redis(any Error)
}
