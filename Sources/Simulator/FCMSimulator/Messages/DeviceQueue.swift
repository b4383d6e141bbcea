internal import FanfareModel

/// The messages that FCM stores for one app instance until the device can accept them.
struct DeviceQueue: Equatable, Sendable {
    /// Messages that do not collapse.
    static let maximumPlain = 100
    /// Different collapse keys at a time.
    static let maximumKeys = 4

    /// In the order in which they came; a message that replaced another stands in its place.
    private(set) var messages: [StoredMessage] = []
    /// Messages discarded because there were too many. The device gets an event with their number.
    private(set) var discarded = 0
    /// Messages dropped while the device had been silent for too long.
    private(set) var missed = 0
    /// When the last data message among the missed ones came, Unix milliseconds.
    private(set) var lastMissedMs: Int64?
    /// The sender of the latest message; the event about discarded messages names it.
    private(set) var senderID = ""
    /// When a message of the queue is ready or expires, Unix milliseconds; only ``DeviceQueues`` writes it.
    var dueMs: Int64?

    var isEmpty: Bool { messages.isEmpty && discarded == 0 && missed == 0 }
    var size: Int { messages.reduce(256) { $0 + $1.size } }

    /// Stores a message by FCM's rules, and returns what was dropped to make room. FCM does not promise which four of
    /// five keys stay, so `random` chooses.
    mutating func add(
        _ message: StoredMessage,
        isAndroid: Bool,
        random: inout SplitMix64
    ) -> [(reason: DropReason, count: Int)] {
        senderID = message.accepted.senderID
        if let key = message.collapseKey {
            if let place = messages.firstIndex(where: { $0.collapseKey == key }) {
                messages[place] = message
                return [(.collapsed, 1)]
            }
            messages.append(message)
            let keyed = messages.indices.filter { messages[$0].collapseKey != nil }
            guard keyed.count > Self.maximumKeys else { return [] }
            messages.remove(at: keyed[Int(random.next() % UInt64(keyed.count))])
            return [(.tooManyKeys, 1)]
        }
        let plain = messages.indices.filter { messages[$0].collapseKey == nil }
        guard plain.count >= Self.maximumPlain else {
            messages.append(message)
            return []
        }
        // On the other platforms the oldest message gives way, and there is no event.
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

    /// Drops the stored message with this key, because a newer one has been delivered; false without one.
    mutating func collapse(_ key: ExactText) -> Bool {
        guard let place = messages.firstIndex(where: { $0.collapseKey == key }) else { return false }
        messages.remove(at: place)
        return true
    }

    /// Drops the expired messages, and returns how many they were.
    mutating func expire(nowMs: Int64) -> Int {
        let before = messages.count
        messages.removeAll { $0.expiresMs <= nowMs }
        return before - messages.count
    }

    mutating func remove(at place: Int) -> StoredMessage { messages.remove(at: place) }

    /// Drops all messages, and returns how many they were.
    mutating func removeAll() -> Int {
        defer { messages = [] }
        return messages.count
    }

    // MARK: Losses that the device gets an event for

    mutating func addMissed(_ message: StoredMessage, nowMs: Int64) {
        senderID = message.accepted.senderID
        missed += 1
        if message.isData { lastMissedMs = nowMs }
    }

    /// The device is back after a long silence: its missed messages count as discarded, or are forgotten if the last
    /// data message among them is too old.
    mutating func endSilence(nowMs: Int64) {
        if let last = lastMissedMs, nowMs - last <= DevicePolicy.missedMs { discarded += missed }
        missed = 0
        lastMissedMs = nil
    }

    /// Forgets the discarded messages when their event is delivered, and returns how many they were.
    mutating func removeDiscarded() -> Int {
        defer { discarded = 0 }
        return discarded
    }
}
