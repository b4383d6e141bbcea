import FanfareJSON

/// A message as browsers get it: the common fields with the web's block merged over them.
struct WebContent {
    var headers = JSONObject()
    var notification = JSONObject()
    var data: JSONObject?
    var link: JSONValue?
    var analyticsLabel: JSONValue?

    init(v1 message: JSONObject) {
        let block = message["webpush"]?.object ?? JSONObject()
        for member in block["headers"]?.object?.members ?? [] {
            headers[Self.spelling(member.key)] = member.value
        }
        notification = message["notification"]?.object ?? JSONObject()
        notification.merge(block["notification"]?.object)
        data = block["data"]?.object ?? message["data"]?.object
        let options = block["fcmOptions"]?.object
        link = options?["link"]
        analyticsLabel = options?["analyticsLabel"] ?? message["fcmOptions"]?.object?["analyticsLabel"]
    }

    init(legacy message: LegacyMessage) {
        headers["TTL"] = .string(String(message.lifetimeSeconds))
        headers["Urgency"] = message.isHigh ? "high" : "normal"
        if let key = message.collapseKey, Recipients.isPushTopic(key) { headers["Topic"] = .string(key) }
        for name in ["title", "body"] {
            if let value = message.notification[name] { notification[name] = value }
        }
        for name in ["icon", "image"] {
            if let value = message.notification[name], Self.isAddress(value) { notification[name] = value }
        }
        if !message.data.isEmpty { data = message.data }
        link = message.notification["click_action"].flatMap { Self.isAddress($0) ? $0 : nil }
    }

    /// Whether a browser may use the address: it is HTTPS, or relative to the service worker's page.
    private static func isAddress(_ value: JSONValue) -> Bool {
        guard let text = value.string else { return false }
        let scheme = text.prefix { $0 != ":" && $0 != "/" && $0 != "?" && $0 != "#" }
        return scheme.count == text.count || text[scheme.endIndex] != ":" || scheme.lowercased() == "https"
    }

    /// Header names ignore case; each has one spelling here.
    private static func spelling(_ name: String) -> String {
        ["TTL", "Urgency", "Topic"].first { $0.lowercased() == name.lowercased() } ?? name
    }
}

/// Makes the headers and body of a web push, and the calls to the page or its service worker.
enum WebReception {
    static func receive(_ content: WebContent, _ delivery: Delivery) -> Reception {
        var result = Reception()
        result.headers = content.headers
        // Push services refuse a push without a TTL.
        if result.headers["TTL"] == nil {
            result.headers["TTL"] = .string(String(LegacyMessage.defaultLifetimeSeconds))
        }
        result.payload = [
            "from": .string(delivery.accepted.sender), "fcmMessageId": .string(delivery.accepted.messageID),
        ]
        let isShown = !content.notification.isEmpty
        if isShown { result.payload["notification"] = .object(content.notification) }
        if let data = content.data { result.payload["data"] = .object(data) }
        var options = JSONObject()
        if let link = content.link { options["link"] = link }
        if let label = content.analyticsLabel { options["analyticsLabel"] = label }
        if !options.isEmpty { result.payload["fcmOptions"] = .object(options) }

        let parts: [Callback.Part] = (isShown ? [.notification] : []) + (content.data == nil ? [] : [.data])
        guard delivery.appState != .foreground else {
            result.callbacks = [Callback(name: "onMessage", when: .arrival, carries: parts)]
            return result
        }
        if isShown {
            result.callbacks.append(Callback(name: "shown", when: .arrival, carries: [.notification]))
            result.shown = shown(content.notification)
        }
        result.callbacks.append(Callback(name: "onBackgroundMessage", when: .arrival, carries: parts))
        if isShown {
            result.callbacks.append(
                Callback(name: "notificationclick", when: .tap, carries: parts, opens: content.link?.string)
            )
        }
        return result
    }

    private static func shown(_ notification: JSONObject) -> ShownNotification {
        func text(_ name: String) -> String? { notification[name]?.nonEmptyString }
        var shown = ShownNotification()
        shown.title = text("title")
        shown.body = text("body")
        shown.tag = text("tag")
        shown.key = shown.tag.map { ExactText($0) }
        shown.icon = text("icon")
        shown.image = text("image")
        return shown
    }
}
