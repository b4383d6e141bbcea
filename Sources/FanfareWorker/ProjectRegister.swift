internal import EventLoop
internal import Logging
internal import OpenSSLKit
internal import RedisTransport
internal import StreamWire

/// Enters this worker's projects in the register of ids, which is for people: the one key that has no project's slot.
final class ProjectRegister {
    private let connection: RedisConnection
    private let command: RedisCommand
    private let logger: Logger

    init(loop: EventLoop, configuration: WorkerConfiguration, tls: TLSOptions, logger: Logger) {
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
            guard let self, state == .ready else { return }
            connection.send(command) { [weak self] result in
                guard let self else { return }
                if case .failure(let error) = result {
                    if error.isTransient { return }
                    logger.notice("The projects cannot be entered in the register.", metadata: ["error": "\(error)"])
                }
                close()
            }
        }
        connection.connect()
    }

    func close() { connection.close() }
}
