internal import FanfareConfiguration
internal import FanfareWorker
internal import Foundation
internal import RedisTransport

extension Configuration {
    private static let hourMs: Int64 = 3_600_000

    /// What the worker needs, in its own words.
    func workerConfiguration(_ secrets: Secrets, redis: RedisDeployment, exitWhenIdle: Bool) -> WorkerConfiguration {
        let projects = projects.map { project in
            var result = WorkerConfiguration.Project(
                id: project.id,
                transport: project.transport,
                endpoint: project.endpoint,
                serviceAccount: secrets.serviceAccounts[project.id],
                serverKey: secrets.serverKeys[project.id]
            )
            result.quotaPerMinute = Int(project.quotaPerMinute)
            result.activeFanouts = project.activeFanouts
            result.fanoutRate = Int(project.fanoutRate)
            result.topics = project.topics
            result.smear = project.smear
            result.legacyBody = project.legacyBody
            result.topicAPI = project.topicAPI
            result.iidEndpoint = project.iidEndpoint
            result.xmppHost = project.xmppHost
            result.xmppPort = project.xmppPort
            result.senderID = project.senderID
            return result
        }
        var result = WorkerConfiguration(
            redis: redis,
            projects: projects,
            name: worker.name ?? Self.processName()
        )
        result.prefix = prefix
        result.caFile = caFile?.path
        result.redisCertificateFile = self.redis.certificateFile?.path
        result.redisKeyFile = self.redis.keyFile?.path
        result.proxy = proxy
        result.maxInFlight = worker.maxInFlight
        result.maxLanes = worker.maxLanes
        result.requestTimeoutMs = worker.requestTimeoutMs
        result.drainMs = worker.drainMs
        result.leaseMs = worker.leaseMs
        result.renewMs = worker.renewMs
        result.flushMs = worker.flushMs
        result.window = worker.window
        result.retryPercent = worker.retryPercent
        result.backlogLimit = Int(backlogLimit)
        result.safeReplicas = self.redis.safeReplicas
        result.dedupeMs = retention.dedupeHours * Self.hourMs
        result.keepJobMs = retention.jobHours * Self.hourMs
        result.keepSingleJobMs = retention.singleJobHours * Self.hourMs
        result.keepOutgoingMs = retention.outgoingHours * Self.hourMs
        result.exitWhenIdle = exitWhenIdle
        return result
    }

    /// The random part keeps a process from being taken for an earlier one whose id it got, as in a container, where
    /// every process is number one.
    private static func processName() -> String {
        let process = ProcessInfo.processInfo
        let host = process.hostName.prefix(64)
        return "\(host)-\(process.processIdentifier)-\(String(UInt32.random(in: 0...UInt32.max), radix: 36))"
    }
}
