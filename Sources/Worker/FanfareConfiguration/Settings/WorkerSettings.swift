extension Configuration {
    /// The settings under `worker`.
    public struct Worker: Equatable, Sendable {
        /// nil: the process makes one up.
        public var name: String?
        public var maximumInFlight = 1_000
        public var maximumLanes = 12
        public var requestTimeoutMs: Int64 = 15_000
        public var drainMs: Int64 = 25_000
        public var leaseMs: Int64 = 10_000
        public var renewMs: Int64 = 2_000
        public var flushMs: Int64 = 5
        public var watermarkStep = 128
        public var retryPercent = 10
    }
}

extension Settings {
    static let worker: [Setting] = [
        Setting("worker.name", \.worker.name, flag: "name") {
            "Name of this process among the workers, unique in the fleet. Default: host name, process id and a random "
                + "part. Not for a file that several workers share."
        },
        Setting("worker.max_in_flight", \.worker.maximumInFlight, .integer(1...100_000), flag: "max-in-flight") {
            "Sends in flight at once, per project."
        },
        Setting("worker.max_lanes", \.worker.maximumLanes, .integer(1...1_000)) {
            "HTTP/2 connections, per project; each carries up to 100 sends."
        },
        Setting("worker.request_timeout_ms", \.worker.requestTimeoutMs, .integer(1_000...600_000)) {
            "Timeout of one request. FCM itself may need 10 s."
        },
        Setting("worker.drain_ms", \.worker.drainMs, .integer(0...600_000)) {
            "How long a drain waits for sends in flight."
        },
        Setting("worker.lease_ms", \.worker.leaseMs, .integer(1_000...600_000)) {
            "A worker that has not renewed its lease for this long is declared dead, and its batches are taken over."
        },
        Setting("worker.renew_ms", \.worker.renewMs, .integer(100...60_000)) {
            "How often a worker renews its lease; at most a third of `worker.lease_ms`."
        },
        Setting("worker.flush_ms", \.worker.flushMs, .integer(1...10_000)) {
            "Longest time that an answer waits in memory before it is written. After `kill -9` these answers are in "
                + "doubt, besides the sends in flight."
        },
        Setting("worker.watermark_step", \.worker.watermarkStep, .integer(1...1_000)) {
            "Sends of a batch that may start before its next watermark is written. After a crash this many per batch "
                + "are in doubt, besides the sends in flight. Its former name `worker.window` is still read."
        },
        Setting("worker.retry_percent", \.worker.retryPercent, .integer(0...100)) {
            "Largest share of retries among all sends of any ten seconds, per cent. 10 a second are always allowed; 100 "
                + "means no limit."
        },
    ]
}
