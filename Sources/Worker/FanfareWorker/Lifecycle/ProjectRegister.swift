internal import EventLoop
internal import Logging
internal import RedisTransport
internal import StreamWire

/// Adds this worker's projects to the register of ids for operators, the one key outside the projects' slots.
final class ProjectRegister {
    private let loop: EventLoop
    private let connection: any CommandConnection
    private let command: RedisCommand
    private let logger: Logger
    private var hasComplained = false

    private static let pauseMs: Int64 = 1_000

    /// - Parameter connection: makes the connection with a name; nil: to the configured server.
    init(
        loop: EventLoop,
        configuration: WorkerConfiguration,
        projects: [String],
        logger: Logger,
        connection: ((_ name: String) -> any CommandConnection)? = nil
    ) {
        self.loop = loop
        self.logger = logger
        let (key, name) = (ProjectKeys.projects(prefix: configuration.prefix), "fanfare-register")
        self.connection =
            connection?(name)
            ?? RedisConnection(
                loop: loop,
                deployment: configuration.redis,
                key: key,
                name: name,
                tls: configuration.tls
            )
        var command = RedisCommand("SADD", key)
        for project in projects { command.append(project) }
        self.command = command
    }

    /// Retries transient errors until the projects are entered; any other error is logged, and ends it.
    func start() {
        connection.onStateChange = { [weak self] state in
            if state == .ready { self?.enter() }
        }
        connection.connect()
    }

    func close() { connection.close() }

    private func enter() {
        connection.send(command) { [weak self] result in
            guard let self else { return }
            switch result {
            case .success:
                if hasComplained { logger.notice("The projects are entered in the register.") }
                close()
            case .failure(let error) where error.isTransient:
                // After an error that ends the connection, the next connection enters the projects.
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
        loop.schedule(afterMilliseconds: Self.pauseMs) { [weak self] in
            guard let self, connection.state == .ready else { return }
            enter()
        }
    }
}
