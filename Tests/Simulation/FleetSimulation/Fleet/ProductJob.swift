internal import FanfareCore
internal import FanfareModel
internal import StreamWire

/// A job of the model in the product's types: its spec and its protocol adapter.
struct ProductJob {
    let spec: JobSpec
    let adapter: ProtocolAdapter
    private let number: Int
    private let kind: JobClass

    init(_ job: JobRecord) {
        number = job.number
        kind = job.kind
        let target: Target =
            switch job.kind {
            case .single, .fanout: .tokens([])
            case .group: .group(Self.targetName(job.number))
            case .broadcast: .topic(Self.targetName(job.number))
            }
        var product = Job(
            id: Self.id(job.number),
            hasOwnID: true,
            entryID: "\(job.turn.entryMs)-\(job.turn.entrySequence)",
            target: target,
            message: Array(#"{"notification":{"title":"Hello"}}"#.utf8),
            priority: job.turn.priority,
            expiresAt: job.expiresAtMs,
            delivery: job.isAtMostOnce ? .atMostOnce : .atLeastOnce
        )
        if let guards = job.guards {
            product.guards.ratePerMinute = guards.rate
            product.guards.canary = guards.canary.map(String.init)
            product.guards.canaryWaitMs = guards.canaryWaitMs
            // Its share is the model's own.
            if guards.maximumFailed != nil { product.guards.stopIf = "failed>5%" }
        }
        // The product recognises a fan-out by its total, and its batches are larger than the model's.
        spec = JobSpec(job: product, total: job.kind == .fanout ? Batch.maximumSize + job.total : job.total)
        do {
            adapter = try ProtocolAdapter(spec, job: product.id, settings: ProtocolSettings())
        } catch {
            preconditionFailure("the message is a v1 message")
        }
    }

    static func id(_ number: Int) -> String { "j\(number)" }
    static func number(_ id: some StringProtocol) -> Int? { Int(id.dropFirst()) }

    private static func targetName(_ number: Int) -> String { "all-\(id(number))" }

    /// The name of a recipient.
    func recipient(_ index: Int) -> String {
        kind == .single || kind == .fanout ? "t\(index)-\(number)" : Self.targetName(number)
    }
}

extension BatchName {
    /// As the product names it within its job.
    var batch: String { isRetry ? "r\(part)" : "\(part)" }

    /// As the product names it among all of the project: `<job>/<batch>`.
    var text: String { "\(ProductJob.id(job))/\(batch)" }

    init?(job: some StringProtocol, batch: some StringProtocol) {
        let isRetry = batch.first == "r"
        guard let job = ProductJob.number(job), let part = Int(isRetry ? batch.dropFirst() : batch[...]) else {
            return nil
        }
        self.init(job: job, part: part, isRetry: isRetry)
    }

    /// - Parameter text: see ``text``.
    init?(_ text: String) {
        let parts = text.split(separator: "/")
        guard parts.count == 2 else { return nil }
        self.init(job: parts[0], batch: parts[1])
    }
}
