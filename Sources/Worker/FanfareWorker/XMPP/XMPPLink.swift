internal import EventLoop
internal import FCMWire
internal import FanfareModel
internal import Logging
internal import RedisTransport
internal import StreamWire
internal import XMPPTransport

/// Connects a project's XMPP pool with Redis: asks for permission to open connections, which the fleet shares, and writes
/// upstream messages, which are acknowledged to FCM afterwards.
final class XMPPLink {
    /// A number of connections as reported to Redis. It is reported again under a new lease, which begins at 0, and on a
    /// new connection to Redis, because a restarted server may have lost it.
    private struct Report: Equatable {
        var leaseName: String
        var connection: Int
        var count: Int
    }

    private static let readinessMs: Int64 = 50
    /// After a failed call, a new lease or a new connection to Redis the report is repeated by this timer.
    private static let reportMs: Int64 = 1_000

    private let project: ProjectContext
    private let credential: ServerKeyCredential
    private let upstream: UpstreamQueue
    private var connections = 0
    private var isReporting = false
    private var incidentReports = LogThrottle(seconds: 10)
    /// Incidents since the last line about them.
    private var unloggedIncidents = 0
    /// The last report that Redis took; nil if that is not known.
    private var reported: Report?

    init(project: ProjectContext, pool: XMPPPool, credential: ServerKeyCredential) {
        self.project = project
        self.credential = credential
        upstream = UpstreamQueue(project: project)
        pool.authorizeConnection = { [weak self] completion in
            guard let self else { return completion(false) }
            requestConnection(completion)
        }
        pool.onConnections = { [weak self] count in
            self?.connections = count
            self?.reportConnections()
        }
        pool.onIncoming = { [weak self] incoming, reply in self?.upstream.append(incoming, reply) }
        pool.onRefusedCredential = { [weak self] reason in self?.refused(reason) }
        pool.onReady = { [weak self] in self?.accepted() }
        pool.onWarning = { [weak self] text in
            self?.project.logger.warning("An XMPP connection reported a problem.", metadata: ["problem": "\(text)"])
        }
        pool.onIncidents = { [weak self] first, count in self?.arrivedUnexpectedly(first, count) }
        project.every(milliseconds: Self.reportMs) { [weak self] in self?.reportConnections() }
    }

    // MARK: Connections

    /// Asks Redis for permission to open one more connection.
    ///
    /// - Parameter completion: called with Redis' answer, or with false if the worker ends. While Redis is away it is not
    ///   called: a refusal would cost the pool a pause of seconds.
    private func requestConnection(_ completion: @escaping (Bool) -> Void) {
        guard !project.isDraining else { return completion(false) }
        guard project.redis.state == .ready, project.leaseHolds else {
            return requestConnection(afterMs: Self.readinessMs, completion)
        }
        let now = current
        send(now, wantsMore: true) { [weak self] result in
            guard let self else { return completion(false) }
            guard case .success(let value) = result, let waitMs = value.integer else {
                reported = nil
                // An error is an answer; a lost connection is none.
                guard project.redis.state == .ready else {
                    return requestConnection(afterMs: Self.readinessMs, completion)
                }
                return completion(false)
            }
            reported = now
            guard waitMs > 0 else {
                reported?.count += 1
                return completion(true)
            }
            requestConnection(afterMs: min(waitMs, 1_000), completion)
        }
    }

    private func requestConnection(afterMs delay: Int64, _ completion: @escaping (Bool) -> Void) {
        project.loop.schedule(afterMilliseconds: delay) { [weak self] in
            guard let self else { return completion(false) }
            requestConnection(completion)
        }
    }

    /// Redis counts the connections of all workers: a closed one makes room for another worker's.
    private func reportConnections() {
        let now = current
        guard !isReporting, project.redis.state == .ready, project.leaseHolds, now != reported else { return }
        isReporting = true
        send(now, wantsMore: false) { [weak self] result in
            guard let self else { return }
            isReporting = false
            // Any other answer than 0: this worker has no lease in Redis, and nothing was written.
            guard case .success(let value) = result, value.integer == 0 else {
                reported = nil
                return
            }
            reported = now
            reportConnections()
        }
    }

    private var current: Report {
        Report(leaseName: project.leaseName, connection: project.connection, count: connections)
    }

    private func send(_ report: Report, wantsMore: Bool, _ completion: @escaping RedisConnection.Completion) {
        project.redis.send(
            FunctionLibrary.connect(project.keys, worker: report.leaseName, open: report.count, wantsMore: wantsMore),
            completion
        )
    }

    private func arrivedUnexpectedly(_ first: XMPPIncident, _ count: Int) {
        unloggedIncidents += count
        guard incidentReports.admits(now: project.loop.now) else { return }
        project.logger.warning(
            "FCM sent an unexpected stanza over XMPP. It was ignored.",
            metadata: ["problem": "\(first)", "count": "\(unloggedIncidents)"]
        )
        unloggedIncidents = 0
    }

    // MARK: The credential

    private func refused(_ reason: String) {
        project.logger.error(
            "FCM refuses this project over XMPP: check sender_id and the server key.",
            metadata: ["reason": "\(reason)"]
        )
        credential.failure = Failure(error: .unspecified, action: .fixCredentials, rawError: reason, httpStatus: 401)
    }

    private func accepted() {
        guard credential.failure != nil else { return }
        project.logger.notice("FCM accepts sender_id and the server key again.")
        credential.failure = nil
    }
}
