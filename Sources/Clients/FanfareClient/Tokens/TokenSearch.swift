internal import FanfareModel
internal import StreamWire

/// A search for one token in the kept results and feedback of a project, from the newest entry to the oldest.
///
/// It uses plain commands that read a bounded number of entries each, so that none holds Redis for long.
struct TokenSearch<Redis: RedisSending> {
    private let redis: Redis
    private let keys: ProjectKeys
    private let token: String
    private let limit: Int
    private let fingerprint: TokenFingerprint
    /// The token in its quotes. Nearly no entry holds it, so only entries with it are parsed.
    private let needle: BytePattern
    private var callsLeft: Int
    private var cursor: TokenCursor
    private var story: TokenStory
    private var known: Set<String> = []
    private var unreadable = 0
    /// Entries of `results` that the search has not counted yet, neither one by one nor by their block of the index.
    private var missing: Int64 = 0
    /// Whether entries were skipped because their block does not hold the token.
    private var hasSkipped: Bool

    /// An entry of `results` has up to 1,000 results, about 300 kB.
    private static var entriesAtOnce: Int { 64 }
    private static var blocksAtOnce: Int { 200 }

    private enum Rest: Equatable {
        case none
        /// The call read its limit. The next call continues before this entry; nil: from the newest entry.
        case before(String?)
    }

    init(redis: Redis, keys: ProjectKeys, token: String, limit: Int, calls: Int, from start: TokenCursor?) {
        (self.redis, self.keys, self.token, self.limit) = (redis, keys, token, max(1, limit))
        fingerprint = TokenFingerprint(of: token)
        needle = BytePattern("\"\(token)\"".utf8)
        callsLeft = max(4, calls)
        story = TokenStory(project: keys.project)
        cursor = start ?? TokenCursor()
        hasSkipped = start != nil
    }

    mutating func run() async throws -> TokenStory {
        let oldest = try await redis.reply(to: RedisCommand("XRANGE", keys.results, "-", "+", "COUNT", "1"))
        story.keptSinceMs = oldest.array?.first.flatMap { StreamEntry($0)?.milliseconds }
        // The feedback, however much it is, leaves most calls to the results.
        let share = callsLeft - callsLeft / 4
        callsLeft /= 4
        if case .open(let before) = cursor.feedback {
            let rest = try await read(keys.feedback, behind: nil, before: before)
            if case .before(let id) = rest { cursor.feedback = .open(before: id) } else { cursor.feedback = .over }
        }
        callsLeft += share
        if case .indexed(let before, let missing) = cursor.results { try await searchIndex(before, missing) }
        if case .direct(let before) = cursor.results {
            let rest = try await read(keys.results, behind: nil, before: before)
            if case .before(let id) = rest { cursor.results = .direct(before: id) } else { cursor.results = .over }
        }
        return finished()
    }

    // MARK: The index

    /// Skips the entries of each block that does not hold the token. Reads all other entries: the ones in no block yet,
    /// and the oldest block's, whose first ones may be gone.
    private mutating func searchIndex(_ start: String?, _ count: Int64?) async throws {
        var before = start
        if let count {
            missing = count
        } else {
            missing = try await redis.reply(to: RedisCommand("XLEN", keys.results)).integer ?? 0
        }
        while callsLeft > 0, story.jobs.count < limit {
            let (blocks, isLastPage) = try await readBlocks(before: before)
            // The entries of a block begin after the id of the block before it and end with its own id.
            let ends = blocks.map { Optional($0.id) } + (isLastPage ? [nil] : [])
            for (position, end) in ends.enumerated() {
                let block = position > 0 ? blocks[position - 1] : nil
                if let block, end != nil, !block.mayHold(fingerprint) {
                    missing -= block.entries
                    hasSkipped = true
                } else if end == nil || before != end.flatMap(TokenIndexBlock.successor) {
                    let rest = try await read(keys.results, behind: end, before: before)
                    if case .before(let id) = rest { return cursor.results = .indexed(before: id, missing: missing) }
                }
                before = end.flatMap(TokenIndexBlock.successor)
            }
            // Entries that no block counts were written without the index.
            if isLastPage { return cursor.results = hasSkipped && missing > 0 ? .direct(before: nil) : .over }
        }
        cursor.results = .indexed(before: before, missing: missing)
    }

    /// The next blocks, newest first, and whether there are no more.
    private mutating func readBlocks(before: String?) async throws -> (blocks: [TokenIndexBlock], isLastPage: Bool) {
        let page = try await page(of: keys.fingerprints, behind: nil, before: before, Self.blocksAtOnce)
        let blocks = page.compactMap { TokenIndexBlock($0) }
        return (blocks, page.count < Self.blocksAtOnce || blocks.count < 2)
    }

    // MARK: Entries

    /// Reads entries between two ids until there are no more, or as many as this call may read.
    private mutating func read(_ stream: String, behind: String?, before: String?) async throws -> Rest {
        let isFeedback = stream == keys.feedback
        var before = before
        while callsLeft > 0, found(isFeedback) < limit {
            let page = try await page(of: stream, behind: behind, before: before, Self.entriesAtOnce)
            for entry in page {
                before = entry.id
                if isFeedback { visitFeedback(entry) } else { visitResults(entry) }
                if found(isFeedback) >= limit { return .before(before) }
            }
            if page.count < Self.entriesAtOnce { return .none }
        }
        return .before(before)
    }

    private func found(_ isFeedback: Bool) -> Int { isFeedback ? story.feedback.count : story.jobs.count }

    private mutating func page(
        of stream: String,
        behind: String?,
        before: String?,
        _ count: Int
    ) async throws -> [StreamEntry] {
        callsLeft -= 1
        let (end, start) = (before.map { "(\($0)" } ?? "+", behind.map { "(\($0)" } ?? "-")
        let reply = try await redis.reply(to: RedisCommand("XREVRANGE", stream, end, start, "COUNT", "\(count)"))
        return (reply.array ?? []).compactMap { StreamEntry($0) }
    }

    private mutating func visitResults(_ entry: StreamEntry) {
        missing -= 1
        guard let text = entry["results"], needle.occurs(in: text) else { return }
        guard let read = try? ResultEntry(entry) else { return unreadable += 1 }
        for result in read.results where [.token, .fid].contains(result.kind) && isToken(result.recipient.utf8) {
            // All entries are read a second time if the index lacks some.
            guard known.insert("\(entry.id)/\(result.index)").inserted else { continue }
            story.jobs.append(TokenStory.Delivery(result, read))
        }
    }

    private mutating func visitFeedback(_ entry: StreamEntry) {
        guard let recipient = entry["token"] ?? entry["fid"], isToken(recipient) else { return }
        guard let read = try? FeedbackEntry(entry) else { return unreadable += 1 }
        story.feedback.append(TokenStory.Feedback(read))
    }

    private func isToken(_ bytes: some Sequence<UInt8>) -> Bool { bytes.elementsEqual(token.utf8) }

    // MARK: The story

    private mutating func finished() -> TokenStory {
        story.jobs.sort {
            $0.entryID == $1.entryID ? $0.index < $1.index : StreamEntry.isLater($0.entryID, than: $1.entryID)
        }
        story.isWhole = cursor.isOver
        story.cursor = cursor.isOver ? nil : cursor.text
        story.notes = notes
        return story
    }

    private var notes: [String] {
        var notes: [String] = []
        if story.keptSinceMs == nil { notes.append("No results are kept.") }
        notes.append(
            "A job of more than 1,000 recipients keeps no `sent` result unless it was pushed with results=all; "
                + "a job with results=none keeps none. In such a large job that is `done`, FCM accepted each recipient "
                + "about which no failure is kept (`fanfare job results ID --failed`)."
        )
        switch cursor.results {
        case .over: break
        case .indexed(let before, _): notes.append("Results\(Self.earlier(before)) were not searched.")
        case .direct(let before):
            notes.append(
                "\(missing) entries of results are not in the index by token; those\(Self.earlier(before)) were not "
                    + "searched."
            )
        }
        if case .open(let before) = cursor.feedback {
            notes.append("Feedback\(Self.earlier(before)) was not searched.")
        }
        if unreadable > 0 {
            notes.append("\(unreadable) entries hold the token and cannot be read; no worker wrote them.")
        }
        return notes
    }

    private static func earlier(_ id: String?) -> String {
        id.flatMap { StreamEntry.milliseconds(ofID: $0) }.map { " before \(CalendarTime(unixMs: $0).rfc3339)" } ?? ""
    }
}
