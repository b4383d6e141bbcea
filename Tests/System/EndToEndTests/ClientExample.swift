import FanfareClient
import FanfareModel
import FanfareRedis

/// Pushes a message to some devices and prints the result of each.
func announce(to tokens: [String], id: String, project: String, url: String) async throws -> JobStatus {
    let redis = try await RedisClient.connect(RedisDeployment(url: url))
    defer { redis.close() }

    // Created before the first push, so that this group reads every result. It stays until XGROUP DESTROY.
    let consumer = FanfareConsumer(redis: redis, project: project, group: "newsletter-swift", consumer: "one")
    try await consumer.createGroups()

    // The id makes the push idempotent: repeated within 24 hours, it sends nothing.
    var job = PushJob(target: .tokens(tokens), message: #"{"notification":{"title":"Hello","body":"World"}}"#)
    job.id = id
    let producer = FanfareProducer(redis: redis, project: project)
    _ = try await producer.push(job)

    while true {
        let status = try await producer.status(of: id)  // nil until a worker has taken the job
        try await consumer.readResults { entry in
            for result in entry.results {
                // "sent": FCM accepted the message. It does not mean that a device showed it.
                print(entry.job, result.index, result.status, result.error ?? "-")
            }
        }
        try await consumer.readFeedback { entry in
            // "remove": forget the token. "replace": use the replacement from now on.
            print("feedback", entry.action, entry.recipient)
        }
        if let status, status.isOver { return status }
        try await Task.sleep(for: .milliseconds(200))
    }
}
