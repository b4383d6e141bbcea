public import FanfareModel

/// The size of a topic's or a condition's audience as a function of its topics' sizes: the sum for `||` and the minimum for
/// `&&`, in FCM's order. Both are upper bounds. `!` cannot occur, because the validator rejects it.
public struct AudienceFormula: Equatable, Sendable {
    /// One step of the formula in postfix order: an operator follows its two operands.
    enum Step: Equatable, Sendable { case topic(String), sum, minimum }

    private let steps: [Step]

    /// Nil for a target that is neither a topic nor a condition, and for a condition that cannot be read.
    public init?(_ target: Target) {
        switch target {
        case .topic(let name): steps = [.topic(name)]
        case .condition(let text):
            var parser = ConditionParser(Array(text.utf8), limits: .none)
            guard (try? parser.parse()) != nil else { return nil }
            steps = parser.steps
        case .tokens, .fids, .group, .audience, .recipients: return nil
        }
    }

    /// - Parameter known: the size of a topic; nil where it is not known.
    /// - Returns: nil where the size of one topic is not known.
    public func size(_ known: (String) -> Int64?) -> Int64? {
        var stack: [Int64] = []
        for step in steps {
            if case .topic(let name) = step {
                guard let size = known(name) else { return nil }
                stack.append(size)
                continue
            }
            guard let right = stack.popLast(), let left = stack.popLast() else { return nil }
            stack.append(step == .sum ? left.adding(right) : min(left, right))
        }
        return stack.count == 1 ? stack[0] : nil
    }

    /// The formula as text, in the form of ``AudienceEstimate/counted(formula:)``.
    ///
    /// - Parameter known: the sizes that Redis need not count.
    public func text(known: (String) -> Int64?) -> String {
        steps.map { step in
            switch step {
            case .topic(let name): known(name).map { "#\($0)" } ?? name
            case .sum: "+"
            case .minimum: "<"
            }
        }
        .joined(separator: " ")
    }
}

extension AudienceEstimate {
    /// The estimate for a job; nil for a job that starts no fan-out inside FCM: one to other recipients, an operation
    /// without a message, or one that FCM only checks.
    ///
    /// - Parameter topics: sizes that the configuration names, by topic.
    public init?(of job: Job, topics: [String: Int64]) {
        guard job.operation == .send, !job.validateOnly, let formula = AudienceFormula(job.target) else { return nil }
        if let size = job.audienceSize {
            self = .known(size, .job)
        } else if let size = formula.size({ topics[$0] }) {
            self = .known(size, .config)
        } else {
            self = .counted(formula: formula.text { topics[$0] })
        }
    }
}
