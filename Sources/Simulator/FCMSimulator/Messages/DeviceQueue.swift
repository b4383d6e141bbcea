/// What FCM keeps for one app instance until the device can take it.
struct DeviceQueue: Equatable, Sendable {
    /// Messages that do not collapse.
    static let mostPlain = 100
    /// Different collapse keys at a time.
    static let mostKeys = 4

    /// In the order in which they came; one that replaced another is in that one's place.
    private(set) var messages: [StoredMessage] = []
    /// Messages thrown away because there were too many: the device is told when it next can be.
    private(set) var discarded = 0
    /// Messages dropped while the device had been silent for too long.
    private(set) var missed = 0
    /// The last data message among those, Unix milliseconds.
    private(set) var lastMissedMs: Int64?
    /// Of the latest sender, for the event that tells of messages thrown away.
    private(set) var senderID = ""
    /// For ``DeviceQueues`` alone: when it is to be looked at again.
    var dueMs: Int64?

    var isEmpty: Bool { messages.isEmpty && discarded == 0 && missed == 0 }
    var size: Int { messages.reduce(256) { $0 + $1.size } }
    var tellsOfLoss: Bool { discarded > 0 }

    /// Stores a message by the rules.
    ///
    /// - Parameters:
    ///   - isAndroid: elsewhere the oldest gives way, and nobody is told.
    ///   - random: which of five keys goes, since nobody promises which four stay.
    /// - Returns: what was dropped for it.
    mutating func add(
        _ message: StoredMessage,
        isAndroid: Bool,
        random: inout RandomStream
    ) -> [(reason: DropReason, count: Int)] {
        senderID = message.accepted.senderID
        if let key = message.collapseKey {
            if let place = messages.firstIndex(where: { $0.collapseKey == key }) {
                messages[place] = message
                return [(.collapsed, 1)]
            }
            messages.append(message)
            let keyed = messages.indices.filter { messages[$0].collapseKey != nil }
            guard keyed.count > Self.mostKeys else { return [] }
            messages.remove(at: keyed[Int(random.next() % UInt64(keyed.count))])
            return [(.tooManyKeys, 1)]
        }
        let plain = messages.indices.filter { messages[$0].collapseKey == nil }
        guard plain.count >= Self.mostPlain else {
            messages.append(message)
            return []
        }
        guard isAndroid else {
            messages.remove(at: plain[0])
            messages.append(message)
            return [(.tooManyPending, 1)]
        }
        let count = messages.count + 1
        messages = []
        discarded += count
        return [(.tooManyPending, count)]
    }

    /// Drops the stored message of this key, for which a newer one has been delivered.
    mutating func collapse(_ key: String) -> Bool {
        guard let place = messages.firstIndex(where: { $0.collapseKey == key }) else { return false }
        messages.remove(at: place)
        return true
    }

    mutating func expire(nowMs: Int64) -> Int {
        let before = messages.count
        messages.removeAll { $0.expiresMs <= nowMs }
        return before - messages.count
    }

    /// Takes out the first message that can be delivered.
    mutating func takeFirst(where isReady: (StoredMessage) -> Bool) -> StoredMessage? {
        guard let place = messages.firstIndex(where: isReady) else { return nil }
        return messages.remove(at: place)
    }

    mutating func removeAll() -> Int {
        defer { messages = [] }
        return messages.count
    }

    // MARK: Losses the device is told of

    mutating func miss(_ message: StoredMessage, nowMs: Int64) {
        senderID = message.accepted.senderID
        missed += 1
        if message.isData { lastMissedMs = nowMs }
    }

    /// The device is back after a long silence: what it missed becomes something it is told of, or is forgotten.
    mutating func settleMissed(nowMs: Int64) {
        if let last = lastMissedMs, nowMs - last <= DevicePolicy.missedMs { discarded += missed }
        missed = 0
        lastMissedMs = nil
    }

    /// The device has been told.
    mutating func takeDiscarded() -> Int {
        defer { discarded = 0 }
        return discarded
    }
}
