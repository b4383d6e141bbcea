internal import FanfareJSON
internal import FanfareModel

/// The size of a message as FCM counts it: the UTF-8 bytes of the keys and values of data and notification, without white
/// space, quotes, escapes, options and headers.
///
/// Every platform has to be within the limit. Its own `data` replaces the common one, and a field of its own notification
/// the common field of that name.
extension MessageChecker {
    static let limit = 4_096
    static let broadcastLimit = 2_048

    /// - Parameter path: of the message, such as `message` or `variants.es`.
    /// - Returns: the largest of the sizes that were checked.
    @discardableResult
    func checkSize(of message: JSONObject, at path: String) throws(EntryFault) -> Int {
        var largest = 0
        try forEachTotal(of: message) { (total) throws(EntryFault) in
            let (size, limit) = (total.size, sizeLimit)
            largest = max(largest, size)
            let place = total.part.isEmpty ? path : "\(path).\(total.part)"
            let audience = isBroadcast ? " for a topic" : ""
            try require(size <= limit, place, "\(size) bytes\(total.of), at most \(limit)\(audience)")
        }
        return largest
    }

    /// The sizes of a message, always as many and in the same order for the same names of members.
    func totals(of message: JSONObject) -> [Int] {
        var sizes: [Int] = []
        forEachTotal(of: message) { sizes.append($0.size) }
        return sizes
    }

    /// One size that has to be within the limit.
    private struct Total {
        /// The member of the message that it counts; empty for the whole message.
        let part: String
        let size: Int
        /// What else it counts, for an error.
        var of = ""
    }

    /// Calls `visit` for each total, in the order in which errors are reported.
    private func forEachTotal<Failure: Error>(
        of message: JSONObject,
        _ visit: (Total) throws(Failure) -> Void
    ) throws(Failure) {
        let data = message["data"]?.object ?? JSONObject()
        let notification = message["notification"]?.object ?? JSONObject()
        let dataSize = size(data)
        let notificationSize = notification.textSize
        try visit(Total(part: "data", size: dataSize))
        try visit(Total(part: "notification", size: notificationSize))
        try visit(Total(part: "", size: dataSize + notificationSize, of: " of data and notification"))
        guard format == .v1 else { return }

        let inherited = " with what it inherits"
        for name in ["android", "androidV2"] {
            guard let spelling = message.spelling(name), let android = message[spelling]?.object else { continue }
            let own = (android.field("remoteNotification")?.object ?? android)["notification"]?.object ?? JSONObject()
            let total = platformData(android, dataSize) + Self.merged(notification, own)
            try visit(Total(part: spelling, size: total, of: inherited))
        }
        if let webpush = message["webpush"]?.object {
            let own = webpush["notification"]?.object ?? JSONObject()
            let total = platformData(webpush, dataSize) + Self.merged(notification, own)
            try visit(Total(part: "webpush", size: total, of: inherited))
        }
        if let payload = message["apns"]?.object?["payload"]?.object {
            var common = notification
            if payload["aps"]?.object?["alert"] != nil {
                common["title"] = nil
                common["body"] = nil
            }
            let total = dataSize + payload.textSize + common.textSize
            try visit(Total(part: "apns", size: total, of: inherited))
        }
    }

    var sizeLimit: Int { isBroadcast ? Self.broadcastLimit : Self.limit }

    private func platformData(_ platform: JSONObject, _ common: Int) -> Int {
        platform["data"]?.object.map(size) ?? common
    }

    /// A map's size on the wire: in the legacy format, values that are not strings travel as their JSON text.
    private func size(_ data: JSONObject) -> Int {
        data.members.reduce(0) { sum, member in
            sum + member.key.utf8.count + (member.value.string?.utf8.count ?? member.value.jsonBytes.count)
        }
    }

    private static func merged(_ common: JSONObject, _ own: JSONObject) -> Int {
        JSONObject(common.members.filter { own[$0.key] == nil }).textSize + own.textSize
    }
}

extension JSONObject {
    /// The keys and values of a tree, at every depth.
    fileprivate var textSize: Int {
        members.reduce(0) { $0 + $1.key.utf8.count + $1.value.textSize }
    }
}

extension JSONValue {
    fileprivate var textSize: Int {
        switch self {
        case .null: return 4
        case .bool(let flag): return flag ? 4 : 5
        case .number(let number): return number.text.utf8.count
        case .string(let text): return text.utf8.count
        case .array(let elements): return elements.reduce(0) { $0 + $1.textSize }
        case .object(let object): return object.textSize
        }
    }
}
