import Testing

@testable import FCMSimulator

/// The message store alone, with one described device.
@Suite struct MessageStoreTests {
    private static let startMs: Int64 = 1_000_000

    private struct Stage {
        var store = MessageStore(deliveryLimit: 1_000)
        var devices = Devices()
        var ids = IdentifierSource(seed: 1)
        var nowMs = MessageStoreTests.startMs

        mutating func device(_ change: (inout Devices.Device) -> Void) {
            var device = devices["t"] ?? Devices.Device()
            change(&device)
            #expect(devices.put("t", device) == true)
        }

        mutating func deliver(
            _ id: String,
            options: DeliveryOptions = DeliveryOptions(),
            wantsReceipt: Bool = false
        ) {
            let message = AcceptedMessage(
                token: "t",
                messageID: id,
                senderID: "1",
                source: .legacy([]),
                acceptedMs: nowMs,
                wantsReceipt: wantsReceipt
            )
            let traits = MessageTraits(android: options, apple: options, web: options)
            store.deliver(message, traits: traits, to: &devices, ids: &ids, nowMs: nowMs)
        }

        mutating func flush() { store.flush("t", of: &devices, ids: &ids, nowMs: nowMs) }

        mutating func advance(byMs step: Int64) {
            nowMs += step
            store.advance(to: nowMs, devices: &devices, ids: &ids)
        }

        var received: [String] { store.deliveries.list(token: "t").map(\.accepted.messageID) }
    }

    private static func options(_ change: (inout DeliveryOptions) -> Void) -> DeliveryOptions {
        var options = DeliveryOptions()
        change(&options)
        return options
    }

    /// One device state and one message: what the store does with it.
    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var device: @Sendable (inout Devices.Device) -> Void
        var options = DeliveryOptions()
        var isDelivered = false
        var isStored = false
        var dropped: DropReason?

        var testDescription: String { name }
    }

    static let rows: [Row] = [
        Row(name: "online", device: { _ in }, isDelivered: true),
        Row(name: "offline", device: { $0.connection = .offline(sinceMs: 0) }, isStored: true),
        Row(
            name: "offline, never stored",
            device: { $0.connection = .offline(sinceMs: 0) },
            options: options { $0.lifetime = .span(0) },
            dropped: .nowOrNever
        ),
        Row(
            name: "silent for more than a month",
            device: { $0.connection = .offline(sinceMs: -31 * day) },
            dropped: .inactive
        ),
        Row(name: "uninstalled", device: { $0.state = .uninstalled }, dropped: .uninstalled),
        Row(name: "Doze, normal priority", device: { $0.appState = .doze }, isStored: true),
        Row(
            name: "Doze, high priority",
            device: { $0.appState = .doze },
            options: options { $0.priority = .high },
            isDelivered: true
        ),
        Row(
            name: "Apple, force quit, silent push",
            device: {
                $0.platform = .apple
                $0.appState = .forceQuit
            },
            options: options { $0.isSilent = true },
            dropped: .silent
        ),
        Row(
            name: "background with a delay",
            device: {
                $0.appState = .background
                $0.normalDelayMs = 500
            },
            isStored: true
        ),
    ]

    @Test(arguments: rows) func `a message is delivered, stored or dropped by its device's state`(row: Row) {
        var stage = Stage()
        stage.device(row.device)
        stage.deliver("m", options: row.options)
        #expect(stage.received == (row.isDelivered ? ["m"] : []))
        #expect(stage.store.queues.messageCount == (row.isStored ? 1 : 0))
        #expect(stage.store.counts.delivered == (row.isDelivered ? 1 : 0))
        #expect(stage.store.counts.dropped == (row.dropped.map { [$0: 1] } ?? [:]))
    }

    @Test func `an attempt at an uninstalled app ends its registration`() {
        var stage = Stage()
        stage.device { $0.state = .uninstalled }
        stage.deliver("m")
        #expect(stage.devices["t"]?.state == .unregistered)
    }

    @Test func `a held message is delivered at its time, however far the clock jumps`() {
        var stage = Stage()
        let start = stage.nowMs
        stage.device {
            $0.appState = .background
            $0.normalDelayMs = 500
        }
        stage.deliver("m")
        stage.advance(byMs: 499)
        #expect(stage.received.isEmpty)
        stage.advance(byMs: 10_000)
        #expect(stage.store.deliveries.list(token: "t").map(\.timeMs) == [start + 500])
    }

    @Test func `a stored message expires when its lifetime ends`() {
        var stage = Stage()
        stage.device { $0.connection = .offline(sinceMs: Self.startMs) }
        stage.deliver("m", options: Self.options { $0.lifetime = .span(1_000) })
        stage.advance(byMs: 999)
        #expect(stage.store.queues.messageCount == 1)
        stage.advance(byMs: 1)
        #expect(stage.store.queues.messageCount == 0)
        #expect(stage.store.counts.dropped == [.expired: 1])
    }

    @Test func `a flush delivers to a device that is online and drops for one that is gone`() {
        for state in [Devices.Device.State.healthy, .unregistered] {
            var stage = Stage()
            stage.device { $0.connection = .offline(sinceMs: Self.startMs) }
            for id in ["a", "b"] { stage.deliver(id) }
            stage.device {
                $0.connection = .online
                $0.state = state
            }
            stage.flush()
            #expect(stage.received == (state == .healthy ? ["a", "b"] : []))
            #expect(stage.store.counts.dropped == (state == .healthy ? [:] : [.unregistered: 2]))
        }
    }

    @Test func `a renamed queue is flushed under the new token`() {
        var stage = Stage()
        stage.device { $0.connection = .offline(sinceMs: Self.startMs) }
        stage.deliver("m")
        #expect(stage.devices.replace("t", by: "new", worksUntilMs: stage.nowMs + 1) == true)
        stage.store.rename("t", to: "new")
        #expect(stage.store.queues["t"] == nil)
        #expect(stage.store.queues["new"]?.messages.count == 1)
        var device = stage.devices["new"] ?? Devices.Device()
        device.connection = .online
        #expect(stage.devices.put("new", device) == true)
        stage.store.flush("new", of: &stage.devices, ids: &stage.ids, nowMs: stage.nowMs)
        #expect(stage.received == ["m"])
    }

    @Test func `only deliveries that want a receipt are confirmed, once`() {
        var stage = Stage()
        stage.deliver("quiet")
        stage.deliver("loud", wantsReceipt: true)
        #expect(stage.store.removeConfirmed().map(\.accepted.messageID) == ["loud"])
        #expect(stage.store.removeConfirmed() == [])
    }

    @Test func `the twenty-first collapsible message waits for its slot`() {
        var stage = Stage()
        let options = Self.options { $0.collapse = .under("k") }
        for index in 1...21 { stage.deliver("m\(index)", options: options) }
        #expect(stage.received.count == 20)
        #expect(stage.store.throttle.left("t", nowMs: stage.nowMs) == 0)
        #expect(stage.store.throttle.slotMs("t", nowMs: stage.nowMs) == stage.nowMs + 180_000)
        stage.advance(byMs: 180_000)
        #expect(stage.received.count == 21)
    }
}
