internal import EventLoop
internal import FCMWire
internal import Logging
internal import RedisTransport
internal import StreamWire
internal import XMPPTransport

/// What devices sent up and Redis does not have yet, in order. FCM repeats nothing on a connection that stands, and sends
/// no more on it when a hundred wait for their acknowledgement: so what could not be written is kept and written later.
final class UpstreamQueue {
    private final class Entry {
        let command: RedisCommand
        let reply: XMPPReply
        var isUnderWay = false

        init(_ command: RedisCommand, _ reply: XMPPReply) {
            self.command = command
            self.reply = reply
        }
    }

    /// What FCM sends on ten connections without an acknowledgement. What comes beyond it is given back.
    static let most = 1_000
    private static let pauseMs: Int64 = 100
    private static let complaintNs: UInt64 = 10_000_000_000

    private let project: ProjectContext
    private var entries: [Entry] = []
    private var isPausing = false
    private var lastComplaint: UInt64?

    init(project: ProjectContext) { self.project = project }

    func add(_ incoming: XMPPIncoming, _ reply: XMPPReply) {
        guard entries.count < Self.most else { return reply.giveBack() }
        let command = UpstreamEntry.command(incoming, keys: project.keys, receivedMs: project.wallMs)
        entries.append(Entry(command, reply))
        write()
    }

    private func write() {
        // Nothing overtakes what is to be written again.
        guard !isPausing else { return }
        guard project.redis.state == .ready else { return pause() }
        for entry in entries where !entry.isUnderWay {
            entry.isUnderWay = true
            project.coalescer.send(entry.command) { [weak self] result in self?.written(entry, result) }
        }
    }

    private func written(_ entry: Entry, _ result: Result<RedisValue, RedisError>) {
        entry.isUnderWay = false
        switch result {
        case .success:
            if let at = entries.firstIndex(where: { $0 === entry }) { entries.remove(at: at) }
            entry.reply.acknowledge()
        case .failure(let error):
            complain(error)
            pause()
        }
    }

    private func pause() {
        guard !isPausing else { return }
        isPausing = true
        project.loop.schedule(afterMilliseconds: Self.pauseMs) { [weak self] in
            guard let self else { return }
            isPausing = false
            if !entries.isEmpty { write() }
        }
    }

    private func complain(_ error: RedisError) {
        if let lastComplaint, project.loop.now < lastComplaint + Self.complaintNs { return }
        lastComplaint = project.loop.now
        project.logger.warning(
            "Upstream messages could not be written. They are written and acknowledged later.",
            metadata: ["error": "\(error)", "waiting": "\(entries.count)"]
        )
    }
}
