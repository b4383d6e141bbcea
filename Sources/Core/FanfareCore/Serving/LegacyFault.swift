/// Why a legacy request is refused before anything is sent, with the answer that Google gave.
///
/// The reference promises a code in a 200 for a missing or malformed token, a bad time to live, a reserved key and a
/// message that is too large, and 400 with a sentence for everything else. The live server wrote a sentence for some of
/// the former, too; clients can read a code.
public struct LegacyFault: Error, Equatable, Sendable {
    enum Reason: Error, Equatable, Sendable {
        /// 400 and the sentence, which is about the request. Plain text has no 400, and says ``LegacyCode/invalidParameters``.
        case sentence(String)
        /// The same code for each token.
        case code(LegacyCode)
        /// A code for each token.
        case codes([LegacyCode])
    }

    let reason: Reason
    private let shape: LegacyShape
    private let tokens: Int

    /// - Parameter tokens: how many the request has; 1 if it has none.
    init(_ reason: Reason, shape: LegacyShape, tokens: Int) {
        (self.reason, self.shape, self.tokens) = (reason, shape, tokens)
    }

    public var answer: ServedAnswer {
        switch reason {
        case .sentence(let sentence) where shape != .text: .text(sentence + "\n", status: 400)
        case .sentence: coded([.invalidParameters])
        case .code(let code): coded(Array(repeating: code, count: tokens))
        case .codes(let codes): coded(codes)
        }
    }

    /// There is no job, so the id of the multicast is a constant.
    private func coded(_ codes: [LegacyCode]) -> ServedAnswer {
        shape.answer(codes.map { .error($0) }, number: 1)
    }
}

extension LegacyFault.Reason {
    /// - Parameter problem: what a worker finds wrong with a job, as `path: rule`.
    init(problem: String) {
        let prefix = "message."
        let rest = problem.utf8.starts(with: prefix.utf8) ? String(problem.dropFirst(prefix.count)) : problem
        if rest.hasPrefix("time_to_live: ") {
            self = .code(.invalidTTL)
        } else if rest.hasPrefix("data."), rest.hasSuffix(": reserved key") {
            self = .code(.invalidDataKey)
        } else if problem.hasPrefix("message"), problem.contains(" bytes"), problem.contains(", at most ") {
            self = .code(.messageTooBig)
        } else {
            self = .sentence("InvalidParameters: \(rest)")
        }
    }
}
