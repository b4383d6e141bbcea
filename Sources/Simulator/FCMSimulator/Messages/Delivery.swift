/// One message, or one event, on one device. Its screen is computed on request, because few deliveries are read.
struct Delivery: Equatable, Sendable {
    /// The request that carried it.
    enum Source: Equatable, Sendable {
        case v1([UInt8]), legacy([UInt8]), plainText([UInt8])
        /// An event of FCM's own, which no request carried.
        case none
    }

    enum Event: Equatable, Sendable {
        case message
        /// So many messages stored for the device were discarded. The app should fetch what it missed from its server.
        case deletedMessages(count: Int)
    }

    /// For an event, a message of FCM's own.
    var accepted: AcceptedMessage
    var platform: Platform
    /// When the device got it, Unix milliseconds.
    var timeMs: Int64
    var event = Event.message
    /// The app's package or bundle; nil where none was described.
    var package: String?
    /// The app's state at ``timeMs``; still `doze` if the message woke the device.
    var appState = AppState.foreground
    /// The priority it was delivered with; FCM may lower it.
    var priority = MessagePriority.normal
}

extension Delivery.Source {
    var size: Int {
        switch self {
        case .v1(let body), .legacy(let body), .plainText(let body): return body.count
        case .none: return 0
        }
    }
}

/// The state of the app or of its device.
enum AppState: String, Equatable, Sendable {
    case foreground, background
    /// Android: the device is idle.
    case doze
    /// Apple: the user swiped the app away.
    case forceQuit = "force_quit"
    /// Apple: the device saves power.
    case lowPower = "low_power"

    func exists(on platform: Platform) -> Bool {
        switch self {
        case .foreground, .background: return true
        case .doze: return platform == .android
        case .forceQuit, .lowPower: return platform == .apple
        }
    }
}

enum MessagePriority: String, Equatable, Sendable { case normal, high }
