internal import EventLoop
internal import FanfareModel
internal import Logging
internal import RedisTransport
internal import StreamWire

/// Checks the types of the project's keys and the user's rights in Redis, after each connection and after a
/// permanent error. Logs each fault with its remedy.
final class StateCheck {
    private let project: ProjectContext
    private var reports: [RedisFault: LogThrottle] = [:]
    private var checks = LogThrottle(seconds: 5)
    /// Of the last check: an earlier one that is delayed is left out.
    private var number = 0

    init(project: ProjectContext) { self.project = project }

    /// Begins a check because Redis refused a write of this project.
    func refused(_ error: RedisError) {
        guard !error.isTransient, error.code != .functionNotFound, checks.admits(now: project.loop.now) else { return }
        check()
    }

    func check(afterMs milliseconds: Int64 = 0) {
        number += 1
        guard milliseconds > 0 else { return ask() }
        project.loop.schedule(afterMilliseconds: milliseconds) { [weak self, number] in
            if let self, number == self.number { ask() }
        }
    }

    private func ask() {
        guard project.redis.state == .ready else { return }
        project.redis.send(FunctionLibrary.check(project.keys)) { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(let value): report(RedisFault.parse(value) ?? [])
            case .failure(let error):
                project.logger.debug("Keys and rights were not checked.", metadata: ["error": "\(error)"])
            }
        }
    }

    private func report(_ faults: [RedisFault]) {
        reports = reports.filter { faults.contains($0.key) }
        for fault in faults
        where reports[fault, default: LogThrottle(seconds: 60)].admits(now: project.loop.now) {
            project.logger.error("\(fault.sentence)", metadata: fault.metadata)
        }
    }
}

extension RedisFault {
    var sentence: String {
        switch self {
        case .type:
            return
                "A key of this project in Redis has the wrong type: rename it, or delete it. Fanfare writes it again; "
                + "what could not be written is kept and tried again."
        case .command:
            return "This worker's Redis user may not run a command that Fanfare needs: add it to the user's rules, see "
                + "ops/redis/fanfare.acl. What could not be written is kept and tried again."
        }
    }

    var metadata: Logger.Metadata {
        switch self {
        case .type(let key, let found, let needed): return ["key": "\(key)", "type": "\(found)", "needed": "\(needed)"]
        case .command(let name, let key): return ["command": "\(name)", "key": "\(key)"]
        }
    }
}
