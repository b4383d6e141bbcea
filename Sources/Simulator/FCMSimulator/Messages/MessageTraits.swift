/// What a device, and FCM's store, need to know of a message; read once, when the request is.
struct MessageTraits: Equatable, Sendable {
    var restrictedPackage: String?
    /// Data alone with `apns-priority: 10`, which no Apple device takes.
    var isUrgentAppleData = false
    var android = DeliveryOptions()
    var apple = DeliveryOptions()
    var web = DeliveryOptions()

    func options(for platform: Platform) -> DeliveryOptions {
        switch platform {
        case .android: return android
        case .apple: return apple
        case .web: return web
        }
    }
}

/// How one platform's devices are to be given a message.
struct DeliveryOptions: Equatable, Sendable {
    enum Collapse: Equatable, Sendable {
        case never
        /// Under the name of the app's package.
        case underPackage
        case under(String)

        /// - Parameter key: an empty one is none.
        init(key: String?) {
            self = key.flatMap { $0.isEmpty ? nil : .under($0) } ?? .never
        }
    }

    enum Lifetime: Equatable, Sendable {
        /// Milliseconds from the acceptance; 0 is now or never.
        case span(Int64)
        /// Unix milliseconds.
        case until(Int64)

        static let longestMs = V1Rules.longestTTLSeconds * 1_000

        func expiryMs(acceptedMs: Int64) -> Int64 {
            switch self {
            case .span(let milliseconds): return acceptedMs &+ milliseconds
            case .until(let time): return time
            }
        }

        /// True when there is no time to store it.
        func isNowOrNever(acceptedMs: Int64) -> Bool { expiryMs(acceptedMs: acceptedMs) <= acceptedMs }
    }

    var priority = MessagePriority.normal
    var lifetime = Lifetime.span(Lifetime.longestMs)
    var collapse = Collapse.never
    /// False for a data message.
    var isNotification = false
    /// Apple: neither alert nor badge nor sound.
    var isSilent = false
}
