internal import FanfareCore
internal import FanfareJSON
internal import FanfareModel

/// The recipients of a personal job that would fail without a send.
struct FailingRecipients {
    let count: Int
    /// The position of the first of them, as `i` in results.
    let first: Int
    /// The first one's reason, such as `vars.name: missing`.
    let reason: String

    /// - Returns: nil if there are none, and for a job whose recipients only Redis has.
    init?(of job: Job, _ preview: PersonalPreview?) {
        guard let preview, case .recipients(let list) = job.target else { return nil }
        var (count, first, reason) = (0, 0, "")
        for index in list.indices {
            guard let fault = preview.fault(of: list.shared(index)) else { continue }
            if count == 0 { (first, reason) = (index, fault.path.isEmpty ? fault.rule : fault.reason) }
            count += 1
        }
        guard count > 0 else { return nil }
        (self.count, self.first, self.reason) = (count, first, reason)
    }

    func text(of total: Int) -> String {
        "\(count) of \(total) recipients would fail, first recipients[\(first)]: \(reason)"
    }

    var json: JSONObject {
        let first: JSONObject = ["i": .number(JSONNumber(Int64(first))), "reason": .string(reason)]
        return ["failing": .number(JSONNumber(Int64(count))), "first_failing": .object(first)]
    }
}
