internal import FanfareModel

/// What an answer says of each recipient of its request, the usual word apart: of a thousand verdicts nearly all are the
/// same, and each look at all of them costs.
struct AnswerVerdicts {
    /// In the request's order.
    let all: OneOrMore<Verdict>
    /// How many are plainly sent.
    let sent: Int
    /// The others, in their order.
    let others: [Verdict]

    init(_ all: OneOrMore<Verdict>) {
        self.all = all
        var others: [Verdict] = []
        for index in all.indices {
            if case .sent = all[index] { continue }
            others.append(all[index])
        }
        self.others = others
        sent = all.count - others.count
    }
}
