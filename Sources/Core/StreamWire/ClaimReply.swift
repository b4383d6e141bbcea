public import FanfareModel
internal import Glibc

/// The answer of `claim`: work, and what holds it back.
public struct ClaimReply: Equatable, Sendable {
    /// The project's time in milliseconds: it goes on evenly when Redis' clock is set.
    public var nowMs: Int64
    /// The project's time less Redis TIME, Unix milliseconds.
    public var projectClockOffsetMs: Int64
    /// Every send of the project waits this long; 0 when nothing holds it.
    public var holdMs: Int64
    /// Time to the next probe of a blocked project; 0 when it is not blocked.
    public var probeMs: Int64
    public var blockReason: String
    /// When the next retry or held-back job is due, in the project's time; 0 when there is none.
    public var nextDueMs: Int64
    /// A job whose audience is being copied; empty when there is none.
    public var copying: String
    /// Entries in the stream and jobs that are not over, parked ones left out.
    public var unfinished: Int64
    /// Sends that may begin: lent, and good for a quarter of a second from before the call.
    public var permits: Int
    /// Why an operator has paused the project; empty when none has.
    public var pauseReason: String
    /// What keeps workers from taking on more: a stream that nobody reads, or `memory`; empty when nothing does.
    public var pressure: String
    public var newsCursor: String
    public var refusedCursor: String
    public var news: [News]
    public var claims: [Claim]

    public enum ParseResult: Equatable, Sendable {
        case reply(ClaimReply)
        /// The worker was declared dead; it has to register again under a new name.
        case fenced
    }

    public static func parse(_ value: RedisValue) -> ParseResult? {
        guard let parts = value.array, let word = parts.first?.string else { return nil }
        if word == "fenced" { return .fenced }
        guard word == "ok", parts.count >= 15,
            let nowMs = parts[1].integer, let holdMs = parts[2].integer, let probeMs = parts[3].integer,
            let reason = parts[4].string, let nextDueMs = parts[5].integer, let copying = parts[6].string,
            let unfinished = parts[7].integer, let permits = parts[8].integer, let pause = parts[9].string,
            let pressure = parts[10].string, let cursor = parts[11].string, let refused = parts[12].string,
            let news = News.list(parts[13]), let projectClockOffsetMs = parts[14].integer
        else { return nil }
        var claims: [Claim] = []
        for part in parts[15...] {
            guard let claim = Claim(part) else { return nil }
            claims.append(claim)
        }
        return .reply(
            ClaimReply(
                nowMs: nowMs,
                projectClockOffsetMs: projectClockOffsetMs,
                holdMs: holdMs,
                probeMs: probeMs,
                blockReason: reason,
                nextDueMs: nextDueMs,
                copying: copying,
                unfinished: unfinished,
                permits: Int(permits),
                pauseReason: pause,
                pressure: pressure,
                newsCursor: cursor,
                refusedCursor: refused,
                news: news,
                claims: claims
            )
        )
    }
}

/// One batch that this worker holds now.
public struct Claim: Equatable, Sendable {
    public enum Pass: String, Equatable, Sendable { case first, retry }

    public var job: String
    /// As Redis names it among all batches of the project.
    public var name: String { "\(job)/\(batch)" }
    /// The batch's name within the job.
    public var batch: String
    public var epoch: String
    public var pass: Pass
    /// Sends below this position may begin.
    public var upto: Int
    /// How many workers have been given this batch, this one included.
    public var deliveries: Int
    /// The error that ends every unsent recipient of the job, as ``RecordCall/badAnswer`` carried it; empty when none.
    public var abort: String
    public var recipients: [ClaimedRecipient]
    /// The status that every open recipient gets without a send, because the job ends; nil when it goes on.
    public var ending: String?
    /// The batch has taken its workers down, so it is run while nothing else is.
    public var isQuarantined: Bool
    /// The one recipient that is sent to while the project is blocked.
    public var isProbe: Bool

    init?(_ value: RedisValue) {
        guard let parts = value.array, parts.count == 13,
            let job = parts[0].string, let batch = parts[1].string, let epoch = parts[2].string,
            let pass = parts[3].string.flatMap({ Pass(rawValue: $0) }),
            let from = parts[4].integer, let upto = parts[5].integer, let deliveries = parts[6].integer,
            let abort = parts[7].string, let todo = parts[8].string, let maybe = parts[9].string,
            let ending = parts[11].string, let how = parts[12].string
        else { return nil }
        self.job = job
        self.batch = batch
        self.epoch = epoch
        self.pass = pass
        self.upto = Int(upto)
        self.deliveries = Int(deliveries)
        self.abort = abort
        self.ending = ending.isEmpty ? nil : ending
        isQuarantined = how == "1"
        isProbe = how == "2"

        guard var list = ClaimedRecipient.list(parts[10], pass: pass, from: Int(from)) else { return nil }
        if !todo.isEmpty {
            // A take-over: only what is open counts, and what may have been sent is marked.
            func positions(_ text: String) -> [Int] { text.split(separator: ",").compactMap { Int($0) } }
            var fates = [ClaimedRecipient.Fate](repeating: .finished, count: list.count)
            for position in positions(todo) where fates.indices.contains(position) { fates[position] = .unsent }
            for position in positions(maybe) where fates.indices.contains(position) { fates[position] = .maybeSent }
            for position in list.indices { list[position].fate = fates[position] }
        }
        recipients = list
    }

    public init(job: String, epoch: String, upto: Int, taken recipients: RecipientList) {
        self.job = job
        batch = "0"
        self.epoch = epoch
        pass = .first
        self.upto = upto
        deliveries = 1
        abort = ""
        ending = nil
        isQuarantined = false
        isProbe = false
        let recipients = recipients.withoutRest
        self.recipients = recipients.indices.map { ClaimedRecipient(index: $0, text: recipients.shared($0)) }
    }
}

/// One recipient of a claimed batch, by its position in the batch.
public struct ClaimedRecipient: Equatable, Sendable {
    public enum Fate: Equatable, Sendable {
        case unsent
        /// A worker that is gone had leave to send it, and nobody knows whether it did.
        case maybeSent
        /// Has its result, or waits for a retry.
        case finished
    }

    /// Its index in the order the producer gave.
    public var index: Int
    /// What it is called, as a part of what the claim brought.
    public var text: SharedText
    public var history: RecipientHistory
    public var fate: Fate

    public init(index: Int, text: SharedText, history: RecipientHistory = .init(), fate: Fate = .unsent) {
        self.index = index
        self.text = text
        self.history = history
        self.fate = fate
    }

    public init(index: Int, value: String, history: RecipientHistory = .init(), fate: Fate = .unsent) {
        self.init(index: index, text: SharedText(value), history: history, fate: fate)
    }

    /// ``text`` as a text of its own, made each time it is asked for.
    public var value: String {
        get { text.string }
        set { text = SharedText(newValue) }
    }

    static func list(_ value: RedisValue, pass: Claim.Pass, from: Int) -> [ClaimedRecipient]? {
        if pass == .retry {
            guard let parts = value.array, parts.count.isMultiple(of: 2) else { return nil }
            return stride(from: 0, to: parts.count, by: 2).map { at in
                guard let index = parts[at].integer, let text = parts[at + 1].string,
                    let (history, recipient) = RecipientHistory.parse(text)
                else { return ClaimedRecipient(index: Int(parts[at].integer ?? 0), value: "", fate: .finished) }
                return ClaimedRecipient(index: Int(index), value: recipient, history: history)
            }
        }
        if let parts = value.array {
            return parts.enumerated().map { ClaimedRecipient(index: from &+ $0.offset, value: $0.element.string ?? "") }
        }
        guard let bytes = value.bytes else { return nil }
        return lines(bytes, from: from)
    }

    /// One recipient a line.
    private static func lines(_ all: [UInt8], from: Int) -> [ClaimedRecipient] {
        var list: [ClaimedRecipient] = []
        list.reserveCapacity(Batch.maximumSize)
        unsafe all.withUnsafeBytes { bytes in
            var start = 0
            while start <= bytes.count {
                let end = unsafe endOfLine(in: bytes, from: start)
                list.append(ClaimedRecipient(index: from &+ list.count, text: SharedText(start..<end, of: all)))
                start = end + 1
            }
        }
        return list
    }

    private static func endOfLine(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        guard let base = bytes.baseAddress, start < bytes.count,
            let found = unsafe memchr(base + start, 0x0A, bytes.count - start)
        else { return bytes.count }
        return unsafe base.distance(to: UnsafeRawPointer(found))
    }
}

/// What is known of a recipient from earlier attempts; kept in Redis while it waits.
public struct RecipientHistory: Equatable, Sendable {
    public var attempts: Int
    /// Unix milliseconds of the first attempt; 0 before it.
    public var firstAttemptMs: Int64
    public var maybeDuplicate: Bool

    public init(attempts: Int = 0, firstAttemptMs: Int64 = 0, maybeDuplicate: Bool = false) {
        self.attempts = attempts
        self.firstAttemptMs = firstAttemptMs
        self.maybeDuplicate = maybeDuplicate
    }

    public func packed(with recipient: String) -> String {
        "\(attempts)|\(firstAttemptMs)|\(maybeDuplicate ? 1 : 0)|\(recipient)"
    }

    static func parse(_ text: String) -> (RecipientHistory, String)? {
        // A condition holds bars of its own, so only the first three count.
        let parts = text.split(separator: "|", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4, let attempts = Int(parts[0]), let first = Int64(parts[1]) else { return nil }
        let history = RecipientHistory(
            // It is counted on, whatever stood in Redis.
            attempts: min(max(0, attempts), 1 << 30),
            firstAttemptMs: first,
            maybeDuplicate: parts[2] == "1"
        )
        return (history, String(parts[3]))
    }
}
