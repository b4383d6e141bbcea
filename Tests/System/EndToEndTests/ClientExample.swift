import FanfareClient
import FanfareModel
import RedisTransport

/// Pushes a message to some devices, and hears what became of each.
func announce(to tokens: [String], id: String, project: String, url: String) async throws -> JobStatus {
    let redis = try await RedisClient.connect(RedisDeployment(url: url))
    defer { redis.close() }

    // Before the first push, so that this group sees what follows; it stays until XGROUP DESTROY.
    let consumer = FanfareConsumer(redis: redis, project: project, group: "newsletter-swift", consumer: "one")
    try await consumer.createGroups()

    // The id makes it safe to repeat: pushed again within 24 hours, nothing is sent again.
    var job = PushJob(target: .tokens(tokens), message: #"{"notification":{"title":"Hello","body":"World"}}"#)
    job.id = id
    let producer = FanfareProducer(redis: redis, project: project)
    _ = try await producer.push(job)

    while true {
        let status = try await producer.status(of: id)  // nil until a worker has taken the job
        try await consumer.readResults { entry in
            for result in entry.results {
                // "sent" is what FCM accepted; nobody has seen it yet.
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
