extension Devices {
    /// One app instance on one device.
    struct Device: Equatable, Sendable {
        enum State: String, Equatable, Sendable {
            case healthy, unregistered, disabled
            /// The app is gone. FCM learns it when it next tries to deliver a message.
            case uninstalled
        }

        /// The token that replaced this one.
        struct Successor: Equatable, Sendable {
            var token: String
            /// Until when the old token still works, Unix milliseconds.
            var worksUntilMs: Int64
        }

        /// Connected to FCM, or not connected since a time in Unix milliseconds.
        enum Connection: Equatable, Sendable { case online, offline(sinceMs: Int64) }

        var platform = Platform.android
        var state = State.healthy
        /// The app's package or bundle; nil where none was described.
        var package: String?
        /// The sender ids that may send to it; nil allows all.
        var senders: Set<String>?
        var appState = AppState.foreground
        var connection = Connection.online
        /// How much later a message of normal priority comes while the app is in the background.
        var normalDelayMs: Int64 = 0
        /// FCM treats high priority as normal, as it does for an app whose urgent messages show nothing.
        var isHighLowered = false
        /// Apple: messages that the device accepts in a minute; nil for no limit.
        var rate: QuotaWindow?
        /// Android: the channels that the app created; nil if they were not described, and then every channel exists.
        var channels: Set<ExactText>?
        /// Set on a replaced token only; its other fields mean nothing then.
        var successor: Successor?
        /// The tokens that this one replaced, oldest first.
        var formerTokens: [String] = []
        /// How the `data` of its delivery receipts is written over XMPP.
        var receipts = ReceiptForm.object

        var isOnline: Bool { connection == .online }
    }
}
