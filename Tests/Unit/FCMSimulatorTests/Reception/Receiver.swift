import FanfareJSON
import Testing

@testable import FCMSimulator

/// One app on one device, and what becomes of the messages it is given in turn.
struct Receiver {
    static let nowMs: Int64 = 1_800_000_000_000

    var platform: Platform
    var state = AppState.background
    var token = "t"
    var package: String?
    var app = Devices.Device()
    private(set) var store = DeliveryStore(limit: 10_000)

    init(_ platform: Platform, _ state: AppState = .background) {
        self.platform = platform
        self.state = state
    }

    func delivery(_ source: Delivery.Source, id: String = "1581529388050227") -> Delivery {
        Delivery(
            accepted: AcceptedMessage(
                token: token,
                messageID: id,
                senderID: "1234567890",
                source: source,
                acceptedMs: Self.nowMs,
                priority: .high
            ),
            platform: platform,
            timeMs: Self.nowMs,
            package: package,
            appState: state,
            priority: .high
        )
    }

    /// - Parameter message: the fields of a v1 message without its target.
    func v1(_ message: String) -> Reception {
        Reception(delivery(.v1(Self.v1Body(message))), app: app)
    }

    /// - Parameter message: the fields of a legacy body without its target.
    func legacy(_ message: String) -> Reception {
        Reception(delivery(.legacy(Array("{\(message)}".utf8))), app: app)
    }

    func plainText(_ form: String) -> Reception {
        Reception(delivery(.plainText(Array(form.utf8))), app: app)
    }

    /// Keeps a delivery for ``lines()``.
    mutating func keep(v1 message: String) {
        store.add(delivery(.v1(Self.v1Body(message))))
    }

    mutating func keep(legacy message: String) {
        store.add(delivery(.legacy(Array("{\(message)}".utf8))))
    }

    func lines(most: Int = 1_000) throws -> [JSONObject] {
        var devices = Devices()
        #expect(devices.put(token, app) == true)
        let lines = DeliveryLines(store: store, devices: devices)
        return try lines.text(token: token, most: most).split(separator: 10).map { line in
            try #require(try JSONParser.parse(Array(line)).object)
        }
    }

    /// The screen after each delivery.
    func screens() throws -> [JSONObject] {
        try lines().map { try #require($0["screen"]?.object) }
    }

    private static func v1Body(_ message: String) -> [UInt8] {
        Array("{\"message\":{\"token\":\"t\"\(message.isEmpty ? "" : ",")\(message)}}".utf8)
    }
}

extension Reception {
    var aps: JSONObject { payload["aps"]?.object ?? JSONObject() }

    /// As `name@moment`, in their order.
    var calls: [String] { callbacks.map { "\($0.name)@\($0.when.rawValue)" } }

    func carries(_ name: String) -> [Callback.Part]? {
        callbacks.first { $0.name == name }?.carries
    }
}

/// A value from its JSON.
func parsed(_ text: String) throws -> JSONValue {
    try JSONParser.parse(Array(text.utf8))
}
