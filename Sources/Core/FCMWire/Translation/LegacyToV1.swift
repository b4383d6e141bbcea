internal import FanfareJSON

/// A legacy downstream body as a v1 message, by the rows of ``TranslationTable``.
enum LegacyToV1 {
    struct Translated: Equatable {
        /// Without a target. With a TTL, `apns-expiration` is there and empty: it is written at each attempt.
        var message: JSONObject
        var isDryRun: Bool
        var ttlSeconds: Int64?
    }

    static func translate(_ legacy: JSONObject) throws(TranslationError) -> Translated {
        let source = try withPriority(try LegacyData.withTextValues(legacy))
        try refuseUnknown(source)
        var blocks = JSONObject()
        for row in TranslationTable.rows {
            guard let value = source.value(at: row.legacy) else { continue }
            for place in row.places {
                let converted = try place.form.fromLegacy(value, at: row.legacy)
                if let converted { blocks.set(place.path, to: converted) }
            }
        }
        completeAlert(in: &blocks)
        if !showsNotification(legacy) {
            // APNs takes nothing but 5 for a message that shows nothing.
            blocks.set(["apns", "headers", "apns-priority"], to: "5")
        }
        return Translated(
            message: blocks,
            isDryRun: try source.proto("dry_run")?.requireBool(at: ["dry_run"]) ?? false,
            ttlSeconds: source["time_to_live"]?.number?.wholeInt64
        )
    }

    private static func showsNotification(_ legacy: JSONObject) -> Bool {
        legacy["notification"]?.object.map { !$0.isEmpty } ?? false
    }

    /// The message with a priority: FCM's default differs between the kinds of message, and its documents disagree.
    private static func withPriority(_ legacy: JSONObject) throws(TranslationError) -> JSONObject {
        if let notification = legacy["notification"], notification != .null, notification.object == nil {
            throw TranslationError(["notification"], "must be an object, not \(notification.kindName)")
        }
        guard legacy.proto("priority") == nil else { return legacy }
        var result = legacy
        result["priority"] = showsNotification(legacy) ? "high" : "normal"
        return result
    }

    private static func refuseUnknown(_ source: JSONObject) throws(TranslationError) {
        let top = Set(TranslationTable.rows.compactMap(\.legacy.first)).union(TranslationTable.otherLegacyFields)
        for member in source.members where !top.contains(member.key) {
            let isReceipt = member.key == LegacyDialect.receipt
            throw TranslationError([member.key], isReceipt ? LegacyDialect.receiptRule : "unknown field")
        }
        let inner = Set(TranslationTable.rows.filter { $0.legacy.count == 2 }.compactMap(\.legacy.last))
        for member in source["notification"]?.object?.members ?? [] where !inner.contains(member.key) {
            throw TranslationError(["notification", member.key], "unknown field")
        }
    }

    /// Copies the notification's texts into an alert of the payload, which replaces them on Apple devices. A message
    /// without a subtitle or localized text has no such alert: FCM makes it.
    private static func completeAlert(in blocks: inout JSONObject) {
        let alert = ["apns", "payload", "aps", "alert"]
        guard blocks.value(at: alert) != nil else { return }
        for name in ["title", "body"] {
            if let text = blocks.value(at: ["notification", name]) { blocks.set(alert + [name], to: text) }
        }
    }
}
