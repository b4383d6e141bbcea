internal import EventLoop
internal import Logging
internal import OpenSSLKit
internal import RedisTransport
internal import StreamWire

/// Enters this worker's projects in the register of ids, which is for people: the one key that has no project's slot.
final class ProjectRegister {
    private let loop: EventLoop
    private let connection: RedisConnection
    private let command: RedisCommand
    private let logger: Logger
    private var again: TimerID?
    private var hasComplained = false

    private static let pauseMs: Int64 = 1_000

    init(loop: EventLoop, configuration: WorkerConfiguration, tls: TLSOptions, logger: Logger) {
        self.loop = loop
        self.logger = logger
        let key = ProjectKeys.projects(prefix: configuration.prefix)
        connection = RedisConnection(
            loop: loop,
            deployment: configuration.redis,
            key: key,
            name: "fanfare-register",
            tls: tls,
            random: { Double.random(in: 0..<1) }
        )
        var command = RedisCommand("SADD", key)
        for project in configuration.projects { command.append(project.id) }
        self.command = command
    }

    /// Tries until it is done; a user that may not write the register has told so once.
    func start() {
        connection.onStateChange = { [weak self] state in
            if state == .ready { self?.enter() }
        }
        connection.connect()
    }

    func close() {
        cancelRetry()
        connection.close()
    }

    private func enter() {
        cancelRetry()
        connection.send(command) { [weak self] result in
            guard let self else { return }
            switch result {
            case .success:
                if hasComplained { logger.notice("The projects are entered in the register.") }
                close()
            case .failure(let error) where error.isTransient:
                // A connection that the error ends begins anew by itself; the others are told to wait, and it is said.
                if connection.state == .ready { retry(error) }
            case .failure(let error):
                logger.notice("The projects cannot be entered in the register.", metadata: ["error": "\(error)"])
                close()
            }
        }
    }

    private func retry(_ error: RedisError) {
        if !hasComplained {
            hasComplained = true
            logger.notice(
                "The projects cannot be entered in the register yet; it is tried until they are.",
                metadata: ["error": "\(error)"]
            )
        }
        again = loop.schedule(afterMilliseconds: Self.pauseMs) { [weak self] in
            guard let self, connection.state == .ready else { return }
            enter()
        }
    }

    private func cancelRetry() {
        if let again { loop.cancel(again) }
        again = nil
    }
}
