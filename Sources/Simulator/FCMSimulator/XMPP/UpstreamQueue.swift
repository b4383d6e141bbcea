/// The messages to app servers that wait for a connection of their project, their limits, and the awaited receipts.
struct UpstreamQueue: Equatable, Sendable {
    static let most = 100_000
    static let longestMs = V1Rules.longestTTLSeconds * 1_000
    static let perDeviceMinute = 1_000
    static let perProjectMinute = 1_500_000
    /// Devices that are watched at once.
    private static let maximumDevices = 1_000_000
    /// Further receipts are not awaited, unless earlier ones have expired.
    private static let maximumAwaited = 1_000_000

    /// By project id, oldest first.
    private(set) var waiting: [String: [Upstream]] = [:]
    /// By FCM's id of the message.
    private var awaited: [String: AwaitedReceipt] = [:]
    /// By the hash of the token.
    private var devices: [UInt64: QuotaWindow] = [:]
    /// By project id.
    private var projects: [String: QuotaWindow] = [:]
    private var sweptMs: Int64 = 0
    /// No message expires before, Unix milliseconds; nil without one.
    private(set) var nextExpiryMs: Int64?
    var expiredCount = 0
    private(set) var receiptCount = 0

    var count: Int { waiting.values.reduce(0) { $0 + $1.count } }

    var awaitsReceipts: Bool { !awaited.isEmpty }

    /// Counts one message of a device; returns nil, or whose limit is reached.
    mutating func reachedLimit(device: String, project: String, nowMs: Int64) -> String? {
        if nowMs - sweptMs >= QuotaWindow.minuteMs || nowMs < sweptMs {
            sweptMs = nowMs
            devices = devices.filter { $0.value.isOpen(nowMs: nowMs) }
        }
        let hash = TokenHash.of(device)
        guard devices[hash] != nil || devices.count < Self.maximumDevices else { return "devices" }
        guard devices[hash, default: QuotaWindow(limit: Self.perDeviceMinute)].consume(1, nowMs: nowMs) else {
            return "device"
        }
        guard projects[project, default: QuotaWindow(limit: Self.perProjectMinute)].consume(1, nowMs: nowMs) else {
            return "project"
        }
        return nil
    }

    /// - Returns: false if too many messages wait.
    mutating func add(_ item: Upstream, project: String) -> Bool {
        guard count < Self.most else { return false }
        waiting[project, default: []].append(item)
        nextExpiryMs = min(nextExpiryMs ?? Int64.max, item.expiresMs)
        return true
    }

    /// Puts messages without an ack before later ones.
    mutating func putBack(_ items: [Upstream], project: String) {
        let kept = items.filter { !$0.isNowOrNever }
        guard !kept.isEmpty else { return }
        waiting[project] = kept + (waiting[project] ?? [])
        for item in kept { nextExpiryMs = min(nextExpiryMs ?? Int64.max, item.expiresMs) }
    }

    mutating func expire(nowMs: Int64) {
        guard let next = nextExpiryMs, next <= nowMs else { return }
        let before = count
        for project in waiting.keys {
            waiting[project]?.removeAll { $0.expiresMs <= nowMs }
            if waiting[project]?.isEmpty == true { waiting[project] = nil }
        }
        nextExpiryMs = waiting.values.lazy.compactMap { $0.lazy.map(\.expiresMs).min() }.min()
        expiredCount += before - count
    }

    /// Removes and returns the oldest messages.
    mutating func removeFirst(_ most: Int, project: String) -> [Upstream] {
        guard let items = waiting[project], most > 0 else { return [] }
        let rest = items.dropFirst(most)
        waiting[project] = rest.isEmpty ? nil : Array(rest)
        return Array(items.prefix(most))
    }

    // MARK: Receipts

    /// - Parameter messageID: FCM's id of the message.
    mutating func awaitReceipt(_ receipt: AwaitedReceipt, messageID: String, nowMs: Int64) {
        if awaited.count >= Self.maximumAwaited { awaited = awaited.filter { $0.value.expiresMs > nowMs } }
        guard awaited.count < Self.maximumAwaited else { return }
        awaited[messageID] = receipt
    }

    /// Adds the receipt for a message that its device has, if one is awaited.
    mutating func addReceipt(for delivery: Delivery, form: ReceiptForm) {
        guard let receipt = awaited.removeValue(forKey: delivery.accepted.messageID) else { return }
        let message = Upstream.receipt(for: delivery, original: receipt.original, form: form)
        if add(message, project: receipt.project) { receiptCount += 1 }
    }
}

extension QuotaWindow {
    /// Whether the latest window still counts.
    fileprivate func isOpen(nowMs: Int64) -> Bool {
        uses.last.map { nowMs - $0.startedMs < Self.minuteMs && nowMs >= $0.startedMs } ?? false
    }
}
