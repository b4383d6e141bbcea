import FanfareJSON

/// Makes the extras of an Android intent, and decides what FCM's library calls and shows.
enum AndroidReception {
    static let onMessageReceived = "onMessageReceived"
    static let onDeletedMessages = "onDeletedMessages"

    static func receive(_ content: AndroidContent, _ delivery: Delivery, app: Devices.Device) -> Reception {
        var result = Reception()
        result.headers = content.options
        let isShown = !content.notification.isEmpty
        // FCM's own keys come last: they replace data of the same name.
        result.payload = content.data
        var own = common(of: delivery)
        own["google.ttl"] = .integer(content.lifetimeSeconds)
        own["google.original_priority"] = .string(delivery.accepted.priority.rawValue)
        own["google.delivered_priority"] = .string(delivery.priority.rawValue)
        // A notification collapses by the app's package and ignores the sender's key.
        if let key = isShown ? delivery.package ?? content.collapseKey : content.collapseKey {
            own["collapse_key"] = .string(key)
        }
        if let label = content.analyticsLabel { own["google.c.a.m_l"] = label }
        if isShown { own["notification"] = .object(content.notification) }
        result.payload.merge(own)

        let data: [Callback.Part] = content.data.isEmpty ? [] : [.data]
        switch (isShown, delivery.appState == .foreground) {
        case (false, _): result.callbacks = [Callback(name: onMessageReceived, when: .arrival, carries: data)]
        case (true, true):
            result.callbacks = [Callback(name: onMessageReceived, when: .arrival, carries: [.notification] + data)]
        case (true, false):
            let action = content.notification["clickAction"]?.string
            result.callbacks = [
                Callback(name: "tray", when: .arrival, carries: [.notification]),
                Callback(name: "intent", when: .tap, carries: data, opens: action ?? "android.intent.action.MAIN"),
            ]
            result.shown = shown(content.notification, app: app)
        }
        return result
    }

    static func deletedMessages(_ count: Int, of delivery: Delivery) -> Reception {
        var result = Reception()
        result.payload = common(of: delivery)
        result.payload["message_type"] = "deleted_messages"
        result.payload["total_deleted"] = .string(String(count))
        result.callbacks = [Callback(name: onDeletedMessages, when: .arrival, carries: [])]
        return result
    }

    private static func common(of delivery: Delivery) -> JSONObject {
        [
            "from": .string(delivery.accepted.sender), "google.message_id": .string(delivery.accepted.messageID),
            "google.sent_time": .integer(delivery.accepted.acceptedMs),
            "google.c.sender.id": .string(delivery.accepted.senderID),
        ]
    }

    private static func shown(_ notification: JSONObject, app: Devices.Device) -> ShownNotification {
        func text(_ name: String) -> String? { notification[name]?.nonEmptyString }
        var shown = ShownNotification()
        shown.title = text("title") ?? text("titleLocKey")
        shown.body = text("body") ?? text("bodyLocKey")
        shown.tag = text("tag")
        let number = notification["id"]?.number?.wholeInt64
        // Tag and number together name a notification; without both nothing replaces it.
        if shown.tag != nil || number != nil { shown.key = ExactText("\(number ?? 0):" + (shown.tag ?? "")) }
        // The app's own default channel or icon.
        let ownDefault = "default"
        let channel = text("channelId").flatMap { app.channels?.contains($0) == false ? nil : $0 }
        shown.channel = channel ?? ownDefault
        shown.icon = text("icon") ?? ownDefault
        shown.image = text("image")
        // A missing or non-positive count is one.
        shown.count = max(1, notification["notificationCount"]?.number?.wholeInt64 ?? 1)
        return shown
    }
}
