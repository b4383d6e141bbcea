import FanfareJSON

/// Reads the delivery options of a v1 message for each platform.
enum V1Options {
    /// - Parameter message: well formed, with canonical names.
    static func traits(of message: JSONObject, isForTopics: Bool) -> MessageTraits {
        let block = message["android"]?.object ?? message["androidV2"]?.object
        let apple = apple(message)
        return MessageTraits(
            restrictedPackage: block?["restrictedPackageName"]?.nonEmptyString,
            isUrgentAppleData: apple.isSilent && header("apns-priority", of: message["apns"]) == "10",
            android: android(message, isForTopics: isForTopics),
            apple: apple,
            web: web(message)
        )
    }

    private static func android(_ message: JSONObject, isForTopics: Bool) -> DeliveryOptions {
        let block = message["android"]?.object ?? message["androidV2"]?.object ?? JSONObject()
        var options = DeliveryOptions()
        options.isNotification =
            message["notification"] != nil || block["notification"] != nil || block["remoteNotification"] != nil
        switch block["priority"]?.string?.uppercased() {
        case "HIGH": options.priority = .high
        case "NORMAL": options.priority = .normal
        // The references disagree on the default for notifications; the API's description says HIGH.
        default: options.priority = options.isNotification ? .high : .normal
        }
        if let nanoseconds = block["ttl"]?.string.flatMap(DurationText.nanoseconds) {
            options.lifetime = .span(nanoseconds / 1_000_000)
        }
        if options.isNotification {
            options.collapse = .underPackage
        } else {
            options.collapse = .init(key: block["collapseKey"]?.string)
            // An empty map is no map in protobuf.
            let isEmpty = [message["data"], block["data"]].allSatisfy { $0?.object?.isEmpty != false }
            if options.collapse == .never, isForTopics, isEmpty { options.collapse = .underPackage }
        }
        return options
    }

    private static func apple(_ message: JSONObject) -> DeliveryOptions {
        let aps = message["apns"]?.object?["payload"]?.object?["aps"]?.object
        var options = DeliveryOptions()
        options.isNotification = message["notification"] != nil || aps?["alert"] != nil
        options.isSilent = !options.isNotification && aps?["badge"] == nil && aps?["sound"] == nil
        switch header("apns-priority", of: message["apns"]) {
        case "10": options.priority = .high
        case nil: options.priority = options.isSilent ? .normal : .high
        default: options.priority = .normal
        }
        // The default of v1 is 30 days.
        let expiry = header("apns-expiration", of: message["apns"]).flatMap { Int64($0) }
        options.lifetime = expiry.map { .until(milliseconds($0)) } ?? .span(30 * 86_400_000)
        options.collapse = .init(key: header("apns-collapse-id", of: message["apns"]))
        return options
    }

    private static func web(_ message: JSONObject) -> DeliveryOptions {
        let block = message["webpush"]
        var options = DeliveryOptions()
        options.isNotification = message["notification"] != nil || block?.object?["notification"] != nil
        options.priority = header("urgency", of: block) == "high" ? .high : .normal
        if let seconds = header("ttl", of: block).flatMap({ Int64($0) }) {
            options.lifetime = .span(milliseconds(seconds))
        }
        options.collapse = .init(key: header("topic", of: block))
        return options
    }

    /// The value of a header; names ignore case, and the last of equal names counts.
    private static func header(_ name: String, of block: JSONValue?) -> String? {
        block?.object?["headers"]?.object?.members.last { $0.key.lowercased() == name }?.value.string
    }

    /// Milliseconds of a header's seconds, bounded: a sender may write any number.
    private static func milliseconds(_ seconds: Int64) -> Int64 {
        max(0, min(seconds, Int64.max / 4_000)) * 1_000
    }
}
