/// What an answer says of each recipient of its request, in the request's order, the usual word apart: of a thousand
/// verdicts nearly all are ``Verdict/sent(messageID:canonical:)`` without a canonical token, and each look at all of them,
/// and each value of its own, costs.
public struct AnswerVerdicts: Sendable {
    /// A verdict that has more to say than a message's id.
    public struct Other: Equatable, Sendable {
        /// Its place in the request.
        public let index: Int
        public let verdict: Verdict
    }

    /// In their order.
    public let others: [Other]
    /// Of a request for one: it needs no list.
    private let one: Verdict?
    private let ids: MessageIDs

    /// The verdict on a request for one.
    public init(_ one: Verdict) {
        self.one = one
        ids = MessageIDs()
        others = one.plainID == nil ? [Other(index: 0, verdict: one)] : []
    }

    public init(_ all: [Verdict]) {
        var ids = MessageIDs()
        ids.reserve(all.count)
        for verdict in all {
            if let id = verdict.plainID { ids.append(id) } else { ids.appendNone() }
        }
        self.init(ids) { all[$0] }
    }

    /// - Parameter verdict: on a recipient without an id, given its place.
    public init(_ ids: MessageIDs, verdict: (Int) -> Verdict) {
        one = nil
        self.ids = ids
        var others: [Other] = []
        for index in 0..<ids.count where !ids.has(index) {
            others.append(Other(index: index, verdict: verdict(index)))
        }
        self.others = others
    }

    /// How many are plainly sent.
    public var sent: Int { count - others.count }

    /// Whether a recipient is plainly sent.
    public func isPlain(_ index: Int) -> Bool { one.map { $0.plainID != nil } ?? ids.has(index) }

    /// The id, UTF-8, of a recipient that is plainly sent.
    public func messageID(_ index: Int) -> ArraySlice<UInt8> {
        one.map { Array(($0.plainID ?? "").utf8)[...] } ?? ids[index]
    }
}

extension AnswerVerdicts: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { count }
    public var count: Int { one == nil ? ids.count : 1 }

    public subscript(index: Int) -> Verdict {
        if let one { return one }
        if ids.has(index) { return .sent(messageID: String(decoding: ids[index], as: UTF8.self), canonical: nil) }
        var (low, high) = (0, others.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if others[middle].index < index { low = middle + 1 } else { high = middle }
        }
        return others[low].verdict
    }
}

extension Verdict {
    /// The message's id, where there is no more to say.
    fileprivate var plainID: String? {
        if case .sent(let messageID, nil) = self { messageID } else { nil }
    }
}
