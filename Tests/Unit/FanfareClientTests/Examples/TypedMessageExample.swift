import FanfareClient
import FanfareJSON
import FanfareModel

/// Pushes an article to the subscribers of a topic, once however often it is called.
func announceArticle(with producer: FanfareProducer<some RedisSending>) async throws -> String {
    let message = Message(
        notification: .init(title: "Hello", body: "World"),
        data: ["article": "17"],
        android: .init(collapseKey: "news", ttl: .seconds(3_600), priority: .high),
        apns: .init(headers: ["apns-priority": "10"], payload: ["aps": ["sound": "default"]])
    )
    return try await producer.push(message, to: .topic("news"), id: "article-17")
}
