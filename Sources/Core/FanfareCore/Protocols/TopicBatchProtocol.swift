internal import FCMWire
internal import FanfareModel

/// Topic management through Instance ID, up to a thousand tokens in a request.
final class TopicBatchProtocol: WireProtocol {
    private let operation: Operation
    private let topic: String

    init(_ operation: Operation, topic: String) {
        self.operation = operation
        self.topic = topic
    }

    var route: Route { .instanceID }
    var isManagement: Bool { true }
    var maximumTokens: Int { Batch.maximumSize }

    func request(_ recipients: RequestRecipients, _ attempt: Attempt) -> WireRequest {
        var request = WireRequest(route, path: TopicBatch.path(operation), headers: .management)
        TopicBatch.body(topic: topic, tokens: recipients.names, into: &request.body)
        return request
    }

    func judge(
        _ outcome: RequestOutcome,
        of recipients: () -> RequestRecipients,
        _ terms: JudgementTerms,
        into verdicts: inout [Verdict]
    ) {
        verdicts.append(contentsOf: TopicBatch.verdicts(outcome, tokens: recipients().names, nowMs: terms.nowMs))
    }
}
