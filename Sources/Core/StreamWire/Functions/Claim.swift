public import FanfareModel

/// A batch as Redis hands it out.
public struct Claim: Equatable, Sendable {
    public enum Pass: String, Equatable, Sendable { case first, retry }

    public var job: String
    /// Its name among all batches of the project.
    public var name: String { "\(job)/\(batch)" }
    public var batch = "0"
    public var epoch: String
    public var pass = Pass.first
    /// The watermark: sends below this position may begin.
    public var watermark: Int
    /// How many workers have held this batch, this one included.
    public var deliveries = 1
    /// An epoch between an earlier job of the same id and this one; empty if the id was new.
    public var born = ""
    public var recipients: [ClaimedRecipient]
    /// The status that every open recipient gets without a send, because the job ends; nil when it continues.
    public var ending: String?
    /// Several workers in a row died while they held the batch: the project runs it while it holds nothing else.
    public var isQuarantined = false
    /// Of a quarantined batch: how many workers in a row died while they held it.
    public var crashes = 0
    /// The one recipient that is sent to while the project is blocked.
    public var isProbe = false
    /// When the job's send window closes, Unix milliseconds: no send begins from then on. Nil without a window.
    public var closesMs: Int64?
    /// The job, if it is compact.
    public var compact: CompactJob?

    /// Whether nothing of the batch is sent, because its job ends.
    public var endsUnsent: Bool { ending != nil && !isQuarantined }

    init(_ value: RedisValue) throws {
        let fields = try NamedValues.required(NamedValues(value))
        job = try NamedValues.required(fields.text("job"))
        batch = try NamedValues.required(fields.text("batch"))
        epoch = try NamedValues.required(fields.text("epoch"))
        pass = try NamedValues.required(fields.text("pass").flatMap(Pass.init(rawValue:)))
        watermark = Int(try NamedValues.required(fields.number("watermark")))
        deliveries = Int(try NamedValues.required(fields.number("deliveries")))
        born = fields.text("born") ?? ""
        ending = fields.text("ending")
        isQuarantined = fields.flag("quarantined")
        crashes = Int(fields.number("crashes") ?? 0)
        isProbe = fields.flag("probe")
        closesMs = fields.number("closes")
        let (values, from) = (try NamedValues.required(fields["recipients"]), Int(fields.number("from") ?? 0))
        var list = try NamedValues.required(ClaimedRecipient.list(values, pass: pass, from: from))
        if let unsent = fields.text("unsent") {
            // The batch was taken over: all other recipients have a result or wait for a retry.
            for index in list.indices { list[index].progress = .settled }
            let open = [(unsent, ClaimedRecipient.Progress.unsent), (fields.text("maybe_sent") ?? "", .maybeSent)]
            for (positions, progress) in open {
                for position in positions.split(separator: ",").compactMap({ Int($0) })
                where list.indices.contains(position) {
                    list[position].progress = progress
                }
            }
        }
        recipients = list
    }

    /// The batch of a job that intake gave to the worker at once.
    public init(job: String, epoch: String, watermark: Int, taken recipients: RecipientList) {
        self.job = job
        self.epoch = epoch
        self.watermark = watermark
        let recipients = recipients.withoutRest
        self.recipients = recipients.indices.map { ClaimedRecipient(index: $0, text: recipients.shared($0)) }
    }
}

/// One recipient of a claimed batch, by its position in the batch.
public struct ClaimedRecipient: Equatable, Sendable {
    public enum Progress: Equatable, Sendable {
        case unsent
        /// The recipient stands below the watermark of a dead worker: it is not known whether it was sent.
        case maybeSent
        /// The recipient has its result, or waits for a retry.
        case settled
    }

    /// Its index in the order the producer gave.
    public var index: Int
    /// As Redis keeps it, as a part of the claim's text.
    public var text: SharedText
    public var history: RecipientHistory
    public var progress: Progress

    public init(index: Int, text: SharedText, history: RecipientHistory = .init(), progress: Progress = .unsent) {
        self.index = index
        self.text = text
        self.history = history
        self.progress = progress
    }

    public init(index: Int, value: String, history: RecipientHistory = .init(), progress: Progress = .unsent) {
        self.init(index: index, text: SharedText(value), history: history, progress: progress)
    }

    /// ``text`` as a `String`, made by each access.
    public var value: String { text.string }

    static func list(_ value: RedisValue, pass: Claim.Pass, from: Int) -> [ClaimedRecipient]? {
        if pass == .retry {
            guard let parts = value.array, parts.count.isMultiple(of: 2) else { return nil }
            return stride(from: 0, to: parts.count, by: 2).map { at in
                guard let index = parts[at].integer, let text = parts[at + 1].string,
                    let (history, recipient) = RecipientHistory.parse(text)
                else { return ClaimedRecipient(index: Int(parts[at].integer ?? 0), value: "", progress: .settled) }
                return ClaimedRecipient(index: Int(index), value: recipient, history: history)
            }
        }
        if let parts = value.array {
            // The bytes as they are: a personal recipient with invalid UTF-8 fails, and is not repaired.
            return parts.enumerated().map { offset, part in
                let bytes = part.bytes ?? []
                return ClaimedRecipient(index: from &+ offset, text: SharedText(0..<bytes.count, of: bytes))
            }
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
                let end = unsafe ByteSearch.firstIndex(of: 0x0A, in: bytes, from: start) ?? bytes.count
                list.append(ClaimedRecipient(index: from &+ list.count, text: SharedText(start..<end, of: all)))
                start = end + 1
            }
        }
        return list
    }
}

/// What is known of a recipient from earlier attempts; kept in Redis while it waits.
public struct RecipientHistory: Equatable, Sendable {
    public var attempts: Int
    /// The first attempt, in the project's time; 0 before it.
    public var firstAttemptMs: Int64
    public var maybeDuplicate: Bool
    /// Refusals that may be the recipient's or the project's, of which the last may be the recipient's own; 0 for none.
    public var refusals: Int

    public init(attempts: Int = 0, firstAttemptMs: Int64 = 0, maybeDuplicate: Bool = false, refusals: Int = 0) {
        self.attempts = attempts
        self.firstAttemptMs = firstAttemptMs
        self.maybeDuplicate = maybeDuplicate
        self.refusals = refusals
    }

    /// Each zero in front of the first attempt is a refusal: a worker that does not know refusals reads the same time.
    public func packed(with recipient: String) -> String {
        let zeros = String(repeating: "0", count: min(max(0, refusals), Self.maximumRefusals))
        return "\(attempts)|\(zeros)\(firstAttemptMs)|\(maybeDuplicate ? 1 : 0)|\(recipient)"
    }

    /// More refusals are not told apart.
    private static let maximumRefusals = 9

    static func parse(_ text: String) -> (RecipientHistory, String)? {
        // A condition holds bars of its own, so only the first three count.
        let parts = text.split(separator: "|", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4, let attempts = Int(parts[0]), let first = Int64(parts[1]) else { return nil }
        let zeros = parts[1].prefix { $0 == "0" }.count
        let history = RecipientHistory(
            // Bounded: later attempts are added to it.
            attempts: min(max(0, attempts), 1 << 30),
            firstAttemptMs: first,
            maybeDuplicate: parts[2] == "1",
            refusals: min(maximumRefusals, zeros == parts[1].count ? max(0, zeros - 1) : zeros)
        )
        return (history, String(parts[3]))
    }
}
