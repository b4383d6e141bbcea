import FanfareJSON

/// One message to the app server, from a device or from FCM itself.
struct Upstream: Equatable, Sendable {
    var messageID: String
    /// What the ack is addressed to.
    var from: String
    /// A receipt's ack may name the device instead.
    var device: String?
    /// The JSON of the stanza.
    var json: [UInt8]
    /// Unix milliseconds.
    var expiresMs: Int64
    /// Not kept for a connection that comes later.
    var isNowOrNever = false

    var isReceipt: Bool { device != nil }

    func isFor(_ to: String) -> Bool { to == from || to == device }

    static func message(
        id: String,
        from: String,
        category: String,
        data: JSONValue,
        expiresMs: Int64,
        isNowOrNever: Bool
    ) -> Upstream {
        let object: JSONObject = [
            "from": .string(from), "category": .string(category), "message_id": .string(id), "data": data,
        ]
        return Upstream(
            messageID: id,
            from: from,
            json: JSONValue.object(object).jsonBytes,
            expiresMs: expiresMs,
            isNowOrNever: isNowOrNever
        )
    }

    /// - Parameters:
    ///   - original: the `message_id` of the message that arrived.
    ///   - sentMs: when it did, Unix milliseconds.
    ///   - form: how `data` is written.
    static func receipt(
        of original: String,
        token: String,
        category: String,
        sentMs: Int64,
        form: ReceiptForm = .object
    ) -> Upstream {
        let data: JSONObject = [
            "message_status": "MESSAGE_SENT_TO_DEVICE", "original_message_id": .string(original),
            "device_registration_id": .string(token), "message_sent_timestamp": .string(String(sentMs)),
        ]
        let json = JSONValue.object(data)
        let id = "dr2:" + original
        let object: JSONObject = [
            "message_type": "receipt", "from": .string(XMPPNames.domains[0]), "message_id": .string(id),
            "category": .string(category),
            "data": form == .object ? json : .string(String(decoding: json.jsonBytes, as: UTF8.self)),
        ]
        return Upstream(
            messageID: id,
            from: XMPPNames.domains[0],
            device: token,
            json: JSONValue.object(object).jsonBytes,
            expiresMs: sentMs + UpstreamQueue.longestMs
        )
    }
}

/// How the `data` of a receipt is written. The XMPP reference types it as a string; its samples show an object.
enum ReceiptForm: String, Equatable, Sendable { case object, string }

/// What waits for a connection of its project, oldest first, and how much devices may say.
struct UpstreamQueue: Equatable, Sendable {
    static let most = 100_000
    static let longestMs = V1Rules.longestTTLSeconds * 1_000
    static let perDeviceMinute = 1_000
    static let perProjectMinute = 1_500_000
    /// Devices that are watched at once.
    private static let mostDevices = 1_000_000

    private var waiting: [String: [Upstream]] = [:]
    private var devices: [UInt64: QuotaWindow] = [:]
    private var projects: [String: QuotaWindow] = [:]
    private var sweptMs: Int64 = 0
    /// Nothing expires before, Unix milliseconds.
    private(set) var nextExpiryMs: Int64?

    var count: Int { waiting.values.reduce(0) { $0 + $1.count } }

    /// nil when the device may say one more thing; else whose limit stands in its way.
    mutating func refusal(device: String, project: String, now: Int64) -> String? {
        if now - sweptMs >= QuotaWindow.minuteMs || now < sweptMs {
            sweptMs = now
            devices = devices.filter { $0.value.isOpen(nowMs: now) }
        }
        let hash = TokenHash.of(device)
        guard devices[hash] != nil || devices.count < Self.mostDevices else { return "devices" }
        guard devices[hash, default: QuotaWindow(limit: Self.perDeviceMinute)].take(1, nowMs: now) else {
            return "device"
        }
        guard projects[project, default: QuotaWindow(limit: Self.perProjectMinute)].take(1, nowMs: now) else {
            return "project"
        }
        return nil
    }

    /// - Returns: false when too much is waiting.
    mutating func add(_ item: Upstream, project: String) -> Bool {
        guard count < Self.most else { return false }
        waiting[project, default: []].append(item)
        nextExpiryMs = min(nextExpiryMs ?? Int64.max, item.expiresMs)
        return true
    }

    /// Before what came later.
    mutating func putBack(_ items: [Upstream], project: String) {
        let kept = items.filter { !$0.isNowOrNever }
        guard !kept.isEmpty else { return }
        waiting[project] = kept + (waiting[project] ?? [])
        for item in kept { nextExpiryMs = min(nextExpiryMs ?? Int64.max, item.expiresMs) }
    }

    /// - Returns: how many went.
    mutating func expire(now: Int64) -> Int {
        guard let next = nextExpiryMs, next <= now else { return 0 }
        var gone = 0
        for project in waiting.keys {
            let before = waiting[project]?.count ?? 0
            waiting[project]?.removeAll { $0.expiresMs <= now }
            gone += before - (waiting[project]?.count ?? 0)
            if waiting[project]?.isEmpty == true { waiting[project] = nil }
        }
        nextExpiryMs = waiting.values.lazy.compactMap { $0.lazy.map(\.expiresMs).min() }.min()
        return gone
    }

    /// The oldest ones.
    mutating func take(_ most: Int, project: String) -> [Upstream] {
        guard let items = waiting[project], most > 0 else { return [] }
        let rest = items.dropFirst(most)
        waiting[project] = rest.isEmpty ? nil : Array(rest)
        return Array(items.prefix(most))
    }

    var projectsWaiting: [String] { waiting.keys.sorted() }
}

extension QuotaWindow {
    /// Whether what was taken may still count.
    func isOpen(nowMs: Int64) -> Bool {
        uses.last.map { nowMs - $0.startedMs < Self.minuteMs && nowMs >= $0.startedMs } ?? false
    }
}

/// Messages whose senders want to know when they arrive, by the id that FCM gave them.
struct ReceiptWishes: Equatable, Sendable {
    struct Wish: Equatable, Sendable {
        var project: String
        var original: String
        var expiresMs: Int64
    }

    /// Beyond it the wishes that expire first are forgotten.
    static let most = 1_000_000

    private var wishes: [String: Wish] = [:]

    var isEmpty: Bool { wishes.isEmpty }

    mutating func add(_ wish: Wish, messageID: String, now: Int64) {
        if wishes.count >= Self.most { wishes = wishes.filter { $0.value.expiresMs > now } }
        guard wishes.count < Self.most else { return }
        wishes[messageID] = wish
    }

    mutating func take(_ messageID: String) -> Wish? {
        wishes.isEmpty ? nil : wishes.removeValue(forKey: messageID)
    }
}

/// What `GET /stats` tells of XMPP.
struct XMPPStatistics: Equatable, Sendable {
    /// Connections that were authenticated.
    var accepted = 0
    /// Connections that were beyond a limit.
    var refused = 0
    var acks = 0
    var nacks = 0
    /// Times that something was sent to the app server; more than once each where there was no ack.
    var upstreamSent = 0
    var upstreamAcked = 0
    var upstreamExpired = 0
    var receipts = 0
    var badAcks = 0
}
