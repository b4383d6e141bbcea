/// The fields of a message that decide its delivery, read once from the request.
struct MessageTraits: Equatable, Sendable {
    var restrictedPackage: String?
    /// A data message with `apns-priority: 10`, which APNs refuses.
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

/// The delivery options of a message on one platform.
struct DeliveryOptions: Equatable, Sendable {
    enum Collapse: Equatable, Sendable {
        case never
        /// The app's package is the key.
        case underPackage
        case under(String)

        /// - Parameter key: an empty key is no key.
        init(key: String?) {
            self = key.flatMap { $0.isEmpty ? nil : .under($0) } ?? .never
        }
    }

    enum Lifetime: Equatable, Sendable {
        /// Milliseconds from the acceptance; 0 for a message that is never stored.
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
    }

    var priority = MessagePriority.normal
    var lifetime = Lifetime.span(Lifetime.longestMs)
    var collapse = Collapse.never
    /// False for a data message.
    var isNotification = false
    /// Apple: neither alert nor badge nor sound.
    var isSilent = false
}
