import Testing

@testable import FCMSimulator

/// The devices alone: who they are, and whether they accept a message.
@Suite struct DevicesTests {
    private static func admit(
        _ devices: inout Devices,
        _ token: String = "t",
        traits: MessageTraits = MessageTraits(),
        isTrial: Bool = false,
        nowMs: Int64 = 0
    ) -> DeviceOutcome {
        devices.admit(token, traits: traits, senderID: "1", isTrial: isTrial, nowMs: nowMs)
    }

    private static func described(_ change: (inout Devices.Device) -> Void) -> Devices {
        var devices = Devices()
        var device = Devices.Device()
        change(&device)
        #expect(devices.put("t", device) == true)
        return devices
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var device: @Sendable (inout Devices.Device) -> Void
        var traits = MessageTraits()
        var failure: DeviceFailure?

        var testDescription: String { name }
    }

    static let rows: [Row] = [
        Row(name: "healthy", device: { _ in }),
        Row(name: "uninstalled", device: { $0.state = .uninstalled }),
        Row(name: "unregistered", device: { $0.state = .unregistered }, failure: .unregistered),
        Row(
            name: "unregistered, Apple",
            device: {
                $0.platform = .apple
                $0.state = .unregistered
            },
            failure: .appleUnregistered
        ),
        Row(name: "disabled", device: { $0.state = .disabled }, failure: .appleDisabled),
        Row(
            name: "silent for 270 days",
            device: { $0.connection = .offline(sinceMs: -270 * day) },
            failure: .unregistered
        ),
        Row(name: "another sender", device: { $0.senders = ["2"] }, failure: .mismatch),
        Row(
            name: "another package",
            device: { $0.package = "com.example.a" },
            traits: MessageTraits(restrictedPackage: "com.example.b"),
            failure: .package
        ),
        Row(
            name: "urgent data, Apple",
            device: { $0.platform = .apple },
            traits: MessageTraits(isUrgentAppleData: true),
            failure: .urgentAppleData
        ),
    ]

    @Test(arguments: rows) func `a device accepts or refuses by its state`(row: Row) {
        var devices = Self.described(row.device)
        let outcome = Self.admit(&devices, traits: row.traits)
        if let failure = row.failure {
            #expect(outcome == .refused(failure))
        } else {
            #expect(outcome == .accepted(.android, canonical: nil, delayMs: 0, isLost: false))
        }
    }

    @Test func `a token's prefix refuses N times, then accepts`() {
        var devices = Devices()
        let outcomes = (0..<3).map { _ in Self.admit(&devices, "sbx-unavailable-2-x") }
        #expect(outcomes[0] == .refused(.retryable(.unavailable)))
        #expect(outcomes[1] == outcomes[0])
        #expect(outcomes[2] == .accepted(.android, canonical: nil, delayMs: 0, isLost: false))
    }

    @Test func `a replaced token names its successor until it expires`() {
        var devices = Self.described { _ in }
        #expect(devices.replace("t", by: "new", worksUntilMs: 100) == true)
        #expect(Self.admit(&devices, nowMs: 99) == .accepted(.android, canonical: "new", delayMs: 0, isLost: false))
        #expect(Self.admit(&devices, nowMs: 100) == .refused(.unregistered))
        #expect(devices.isGone("t", nowMs: 100))
        #expect(devices.current("t", nowMs: 99).token == "new")
        #expect(devices["t"] == nil)
        #expect(devices.names == ["new"])
    }

    @Test func `the rate counts the app instance, not its tokens, and not validations`() {
        var devices = Self.described { _ in }
        for _ in 0..<200 { _ = Self.admit(&devices) }
        for _ in 0..<200 { _ = Self.admit(&devices, isTrial: true) }
        #expect(devices.buckets.used("t", nowMs: 0).minute == 200)
        #expect(devices.replace("t", by: "new", worksUntilMs: 100) == true)
        for _ in 0..<40 { _ = Self.admit(&devices) }
        #expect(Self.admit(&devices, "new") == .refused(.tooOften(seconds: 60)))
    }

    @Test func `an Apple device has the rate that was described`() {
        var devices = Self.described {
            $0.platform = .apple
            $0.rate = QuotaWindow(limit: 1)
        }
        #expect(Self.admit(&devices) == .accepted(.apple, canonical: nil, delayMs: 0, isLost: false))
        #expect(Self.admit(&devices, nowMs: 1_000) == .refused(.tooOften(seconds: 59)))
    }
}
