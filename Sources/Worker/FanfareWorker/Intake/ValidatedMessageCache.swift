internal import FanfareCore
internal import FanfareModel
internal import Glibc

/// The last valid messages of a project, with their adapters: producers push one message to many recipients as jobs of one
/// recipient each, and it is checked only once.
struct ValidatedMessageCache {
    /// Everything that a message's validity and its request depend on within one project.
    private struct Entry {
        let message: [UInt8]
        let format: MessageFormat
        let isBroadcast: Bool
        let validateOnly: Bool
        let adapter: ProtocolAdapter

        init(_ job: Job, _ adapter: ProtocolAdapter) {
            message = job.message
            format = job.format
            isBroadcast = job.target.kind.isBroadcast
            validateOnly = job.validateOnly
            self.adapter = adapter
        }

        func isFor(_ job: Job) -> Bool {
            message.count == job.message.count && format == job.format && validateOnly == job.validateOnly
                && isBroadcast == job.target.kind.isBroadcast && memcmp(message, job.message, message.count) == 0
        }
    }

    /// A message and its request are at most some 130 KB together.
    static let most = 16

    private var entries: [Entry] = []
    /// The position of the oldest entry, which is replaced next.
    private var next = 0

    /// The adapter of an equal message; nil if the job's message has to be checked.
    func adapter(of job: Job) -> ProtocolAdapter? {
        guard Self.isShared(job) else { return nil }
        return entries.first { $0.isFor(job) }?.adapter
    }

    /// - Parameter job: an accepted job whose message is not in the cache.
    mutating func insert(_ job: Job, _ adapter: ProtocolAdapter) {
        guard Self.isShared(job) else { return }
        let entry = Entry(job, adapter)
        guard entries.count == Self.most else { return entries.append(entry) }
        entries[next] = entry
        next = (next + 1) % Self.most
    }

    /// A message with `replace` is not shared: its request holds a mark made of the job's id. Nor is a personal one, which
    /// already has many recipients.
    private static func isShared(_ job: Job) -> Bool {
        job.operation == .send && job.delivery != .replace && !job.isPersonal
    }
}
