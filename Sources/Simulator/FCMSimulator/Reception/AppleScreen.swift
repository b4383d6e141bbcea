import FanfareJSON

/// Decides which methods of an Apple app a push calls, and what the system shows.
enum AppleScreen {
    static let willPresent = "userNotificationCenter(_:willPresent:)"
    static let didReceive = "userNotificationCenter(_:didReceive:)"
    static let didReceiveRemote = "application(_:didReceiveRemoteNotification:fetchCompletionHandler:)"
    static let extensionDidReceive = "UNNotificationServiceExtension.didReceive(_:withContentHandler:)"

    private static let whole: [Callback.Part] = [.notification, .data]

    /// Adds the callbacks and what is shown; both follow from the complete payload.
    static func complete(_ result: inout Reception, state: AppState) {
        guard result.liveActivityToken == nil, let aps = result.payload["aps"]?.object else { return }
        result.badge = aps["badge"]?.number?.wholeInt64.map { max(0, $0) }
        let isNoticed = ["alert", "badge", "sound"].contains { aps[$0] != nil }
        let wakes = isOn(aps["content-available"])
        let isMutable = isOn(aps["mutable-content"])
        guard isNoticed else {
            // Nothing is shown that a user could tap, so the app is called at arrival or not at all.
            guard wakes, state == .foreground || state == .background else { return }
            result.callbacks = [Callback(name: didReceiveRemote, when: .arrival, carries: [.data])]
            return
        }
        let shown = notification(aps["alert"], of: result, isMutable: isMutable)
        if shown != nil, isMutable {
            result.callbacks.append(Callback(name: extensionDidReceive, when: .arrival, carries: whole))
        }
        if state == .foreground {
            result.callbacks.append(Callback(name: willPresent, when: .arrival, carries: whole))
        }
        let wakesNow = wakes && (state == .foreground || state == .background)
        if wakesNow {
            result.callbacks.append(Callback(name: didReceiveRemote, when: .arrival, carries: whole))
        }
        // The app is assumed to answer `willPresent` with list, banner, sound and badge.
        result.shown = shown
        guard shown != nil else { return }
        result.callbacks.append(Callback(name: didReceive, when: .tap, carries: whole))
        if !wakesNow, state != .foreground {
            result.callbacks.append(Callback(name: didReceiveRemote, when: .tap, carries: whole))
        }
    }

    private static func notification(_ alert: JSONValue?, of result: Reception, isMutable: Bool) -> ShownNotification? {
        var shown = ShownNotification()
        if let text = alert?.string {
            shown.body = text
        } else if let alert = alert?.object {
            shown.title = alert["title"]?.string ?? alert["title-loc-key"]?.string
            shown.subtitle = alert["subtitle"]?.string ?? alert["subtitle-loc-key"]?.string
            shown.body = alert["body"]?.string ?? alert["loc-key"]?.string
        }
        guard [shown.title, shown.subtitle, shown.body].contains(where: { !($0 ?? "").isEmpty }) else { return nil }
        // Only a service extension loads an image, and only for a mutable notification.
        if isMutable { shown.image = result.payload["fcm_options"]?.object?["image"]?.string }
        shown.tag = result.headers["apns-collapse-id"]?.string
        shown.key = shown.tag.map { ExactText($0) }
        return shown
    }

    private static func isOn(_ value: JSONValue?) -> Bool {
        value?.number?.wholeInt64 == 1
    }
}
