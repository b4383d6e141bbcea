internal import EventLoop
internal import FanfareModel
internal import Logging
internal import RedisTransport
internal import StreamWire

/// Makes this worker known to the project in Redis: the consumer group of the job stream, and a lease.
final class Registration {
    private let project: ProjectContext
    private var isRegistering = false
    private var failures = LogThrottle(seconds: 10)
    /// Whether the job stream has its consumer group.
    private(set) var hasGroup = false
    /// Whether this worker's name was registered, and not declared dead since.
    private(set) var isRegistered = false

    /// With the last news that does not concern this worker.
    var onRegistered: (_ newsCursor: String) -> Void = { _ in }

    private static let retryMs: Int64 = 1_000

    init(project: ProjectContext) { self.project = project }

    func createGroup() {
        project.redis.send(JobStream.createGroup(project.keys)) { [weak self] result in
            guard let self else { return }
            if case .failure(let error) = result, error.code != .busyGroup {
                project.logger.error("The job stream cannot be prepared.", metadata: ["error": "\(error)"])
                project.loop.schedule(afterMilliseconds: Self.retryMs) { [weak self] in
                    guard let self, !hasGroup, project.redis.state == .ready else { return }
                    createGroup()
                }
            } else {
                hasGroup = true
            }
        }
    }

    func registerAgain() {
        isRegistered = false
        register()
    }

    func register() {
        guard !isRegistering, !project.isDraining else { return }
        isRegistering = true
        let sentAt = SystemClock.bootNs
        let name = project.leaseName
        project.redis.send(FunctionLibrary.register(project.keys, worker: name)) { [weak self] result in
            guard let self else { return }
            isRegistering = false
            // The name was declared dead meanwhile: the answer says nothing about the new one.
            if case .success = result, name != project.leaseName { return register() }
            switch result {
            case .success(let value):
                isRegistered = true
                failures.reset()
                project.leases.hold(project.project.id, until: sentAt + project.configuration.leaseSpanNs)
                onRegistered(RegisterReply(value)?.newsCursor ?? "0")
            case .failure(let error):
                if failures.admits(now: project.loop.now) {
                    project.logger.error("The worker cannot register.", metadata: ["error": "\(error)"])
                }
                project.loop.schedule(afterMilliseconds: Self.retryMs) { [weak self] in
                    guard let self, project.redis.state == .ready, !project.leaseHolds else { return }
                    register()
                }
            }
        }
    }
}
