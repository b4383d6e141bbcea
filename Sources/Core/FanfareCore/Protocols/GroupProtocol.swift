internal import FCMWire
internal import FanfareModel

/// An operation on a device group.
final class GroupProtocol: WireProtocol {
    private let operation: Operation
    private let name: String
    private let key: String
    private let members: [String]

    init(_ operation: Operation, name: String, key: String, members: [String]) {
        self.operation = operation
        self.name = name
        self.key = key
        self.members = members
    }

    var route: Route { .fcm }
    var isManagement: Bool { true }

    func request(_ recipients: RequestRecipients, _ attempt: Attempt) -> WireRequest {
        GroupOperation.request(operation, name: name, key: key, tokens: members)
    }

    func judge(
        _ outcome: RequestOutcome,
        of recipients: () -> RequestRecipients,
        _ terms: JudgementTerms,
        into verdicts: inout [Verdict]
    ) { verdicts.append(GroupOperation.verdict(outcome, op: operation, key: key, nowMs: terms.nowMs)) }
}
