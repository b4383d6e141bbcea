import FanfareJSON

/// The rules of FCM for a v1 message beyond its schema.
enum V1Rules {
    static let longestTTLSeconds: Int64 = 2_419_200

    static func firstBroken(by message: JSONObject, target: V1Send.Target) -> APIError? {
        if message["android"] != nil, message["androidV2"] != nil {
            return .invalid("Only one of android and android_v2 may be set.", field: "message.android_v2")
        }
        return dataKeys(message) ?? lifetime(message) ?? labels(message) ?? android(message) ?? web(message)
            ?? apple(message) ?? size(message, target: target)
    }

    /// Whether any of the references reserves the data key.
    static func isReserved(_ key: String) -> Bool {
        key == "from" || key == "message_type" || key.hasPrefix("google") || key.hasPrefix("gcm")
    }

    private static func dataKeys(_ message: JSONObject) -> APIError? {
        for place in ["", "android", "androidV2", "webpush"] {
            let holder = place.isEmpty ? message : message[place]?.object
            let reserved = holder?["data"]?.object?.members.first { isReserved($0.key) }
            guard let reserved else { continue }
            let path = place.isEmpty ? "message.data" : "message.\(place == "androidV2" ? "android_v2" : place).data"
            return .invalid("Invalid data payload key: \(reserved.key)", field: path)
        }
        return nil
    }

    private static func lifetime(_ message: JSONObject) -> APIError? {
        for (name, path) in [("android", "message.android.ttl"), ("androidV2", "message.android_v2.ttl")] {
            guard let text = message[name]?.object?["ttl"]?.string else { continue }
            guard let nanos = DurationText.nanoseconds(text), nanos >= 0, nanos <= longestTTLSeconds * 1_000_000_000
            else { return .invalid("Invalid TTL: must be between 0s and 2419200s.", field: path) }
        }
        return nil
    }

    private static func labels(_ message: JSONObject) -> APIError? {
        var holders = [("message.fcm_options", message["fcmOptions"]?.object)]
        for name in ["android", "androidV2", "apns", "webpush"] {
            holders.append(("message.\(name).fcm_options", message[name]?.object?["fcmOptions"]?.object))
        }
        for (path, options) in holders {
            guard let label = options?["analyticsLabel"]?.string, !Recipients.isLabel(label) else { continue }
            return .invalid("Invalid analytics label.", field: path + ".analytics_label")
        }
        return nil
    }

    private static func android(_ message: JSONObject) -> APIError? {
        let v2 = message["androidV2"]?.object?["remoteNotification"]?.object?["notification"]?.object
        guard let notification = message["android"]?.object?["notification"]?.object ?? v2 else { return nil }
        let path = "message.android.notification"
        if let color = notification["color"]?.string, !isColor(color) {
            return .invalid("Invalid color: must be #RRGGBB.", field: path + ".color")
        }
        if let light = notification["lightSettings"]?.object,
            ["color", "lightOnDuration", "lightOffDuration"].contains(where: { light[$0] == nil })
        {
            return .invalid("Invalid light settings: all fields are required.", field: path + ".light_settings")
        }
        return nil
    }

    private static func isColor(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return bytes.count == 7 && bytes[0] == UInt8(ascii: "#")
            && bytes.dropFirst().allSatisfy { Character(UnicodeScalar($0)).isHexDigit }
    }

    private static func web(_ message: JSONObject) -> APIError? {
        let webpush = message["webpush"]?.object
        if let link = webpush?["fcmOptions"]?.object?["link"]?.string, !link.lowercased().hasPrefix("https://") {
            return .invalid("Invalid link: must be an HTTPS URL.", field: "message.webpush.fcm_options.link")
        }
        let ttl = webpush?["headers"]?.object?.members.last { $0.key.lowercased() == "ttl" }?.value.string
        if let ttl {
            guard let seconds = Int64(ttl), seconds >= 0, seconds <= longestTTLSeconds else {
                return .invalid("Invalid TTL header.", field: "message.webpush.headers")
            }
        }
        return nil
    }

    private static func apple(_ message: JSONObject) -> APIError? {
        for header in message["apns"]?.object?["headers"]?.object?.members ?? [] {
            let value = header.value.string ?? ""
            let path = "message.apns.headers"
            switch header.key.lowercased() {
            case "apns-priority" where !["1", "5", "10"].contains(value):
                return .invalid("Invalid apns-priority header.", field: path)
            case "apns-expiration" where Int64(value).map { $0 < 0 } ?? true:
                return .invalid("Invalid apns-expiration header.", field: path)
            case "apns-collapse-id" where value.utf8.count > 64:
                return .invalid("Invalid apns-collapse-id header: at most 64 bytes.", field: path)
            default: continue
            }
        }
        if let aps = message["apns"]?.object?["payload"]?.object?["aps"], aps.object == nil {
            return .invalid("Invalid APNs payload: 'aps' must be an object.", field: "message.apns.payload")
        }
        return nil
    }

    /// Checks the UTF-8 bytes of keys and values, as each platform gets them.
    private static func size(_ message: JSONObject, target: V1Send.Target) -> APIError? {
        let limit = target.isAudience ? 2_048 : 4_096
        let shown = PayloadSize.of(message["notification"])
        let data = PayloadSize.of(message["data"])
        var sizes = [shown + data]
        for name in ["android", "androidV2", "webpush"] {
            guard let block = message[name]?.object else { continue }
            let own = block["data"].map { PayloadSize.of($0) } ?? data
            let notification = block["notification"] ?? block["remoteNotification"]
            sizes.append(own + max(shown, PayloadSize.of(notification)))
        }
        if let payload = message["apns"]?.object?["payload"] { sizes.append(data + PayloadSize.of(payload)) }
        guard let largest = sizes.max(), largest > limit else { return nil }
        return .invalid("Message is too large. The maximum is \(limit / 1_024)K (\(limit) bytes).")
    }
}

enum PayloadSize {
    /// The UTF-8 bytes of keys and values, without JSON's own punctuation.
    static func of(_ value: JSONValue?) -> Int {
        switch value {
        case nil, .null: return 0
        case .string(let text): return text.utf8.count
        case .bool(let flag): return flag ? 4 : 5
        case .number(let number): return number.text.utf8.count
        case .array(let elements): return elements.reduce(0) { $0 + of($1) }
        case .object(let object): return object.members.reduce(0) { $0 + $1.key.utf8.count + of($1.value) }
        }
    }
}
