/// Delivers, stores or drops each accepted message, and remembers what it delivered.
struct MessageStore: Sendable {
    /// Messages that reached a device, and messages that never will.
    struct Counts: Equatable, Sendable {
        /// Events of FCM's own included.
        fileprivate(set) var delivered = 0
        fileprivate(set) var dropped: [DropReason: Int] = [:]

        fileprivate mutating func drop(_ reason: DropReason, times: Int = 1) {
            if times > 0 { dropped[reason, default: 0] += times }
        }
    }

    private(set) var deliveries: DeliveryStore
    private(set) var counts = Counts()
    private(set) var queues = DeviceQueues()
    private(set) var throttle = Throttle()
    /// Deliveries whose sender wants a receipt, until ``removeConfirmed()``.
    private var confirmed: [Delivery] = []

    /// - Parameter deliveryLimit: how many deliveries are kept for reading.
    init(deliveryLimit: Int) {
        deliveries = DeliveryStore(limit: deliveryLimit)
    }

    // MARK: Events

    /// Delivers a message that its device did not refuse, stores it, or drops it.
    mutating func deliver(
        _ accepted: AcceptedMessage,
        traits: MessageTraits,
        to devices: inout Devices,
        ids: inout IdentifierSource,
        nowMs: Int64
    ) {
        let (instance, device) = devices.current(accepted.token, nowMs: nowMs)
        var message = StoredMessage(accepted, options: traits.options(for: device.platform), package: device.package)
        if DevicePolicy.isInactive(device, nowMs: nowMs) {
            counts.drop(.inactive)
            var queue = queues.remove(instance) ?? DeviceQueue()
            queue.addMissed(message, nowMs: nowMs)
            put(queue, of: instance, device, nowMs: nowMs)
            return
        }
        message.heldUntilMs = DevicePolicy.heldUntilMs(message, on: device, nowMs: nowMs)
        let slotMs = message.isThrottled ? throttle.slotMs(instance, nowMs: nowMs) : nowMs
        if let readyMs = DevicePolicy.readyMs(message, on: device, slotMs: slotMs), readyMs <= nowMs {
            dropOlder(than: message, instance, device, nowMs: nowMs)
            if device.state == .uninstalled {
                devices.markUnregistered(instance)
                counts.drop(.uninstalled)
            } else {
                handOver(message, to: instance, device, nowMs: nowMs)
            }
        } else if message.isNowOrNever {
            counts.drop(.nowOrNever)
        } else if message.expiresMs <= nowMs {
            counts.drop(.expired)
        } else {
            store(message, for: instance, device, of: &devices, ids: &ids, nowMs: nowMs)
        }
    }

    /// Performs what was due by then, each thing at its own time: a held message is delivered, an old one expires.
    mutating func advance(to nowMs: Int64, devices: inout Devices, ids: inout IdentifierSource) {
        while let (instance, dueMs) = queues.nextDue(nowMs: nowMs) {
            flush(instance, of: &devices, ids: &ids, nowMs: dueMs)
        }
    }

    /// Delivers the messages that the device can accept now. Call it whenever the device has changed.
    mutating func flush(_ token: String, of devices: inout Devices, ids: inout IdentifierSource, nowMs: Int64) {
        guard var queue = queues.remove(token) else { return }
        let (_, device) = devices.current(token, nowMs: nowMs)
        counts.drop(.expired, times: queue.expire(nowMs: nowMs))
        if DevicePolicy.isGone(device, nowMs: nowMs) {
            counts.drop(.unregistered, times: queue.removeAll())
            return
        }
        if device.isOnline { queue.endSilence(nowMs: nowMs) }
        let hasEvent = queue.discarded > 0 && DevicePolicy.acceptsEvents(device)
        if device.state == .uninstalled, hasEvent || firstReady(in: queue, of: token, device, nowMs: nowMs) != nil {
            devices.markUnregistered(token)
            counts.drop(.uninstalled, times: queue.removeAll())
            return
        }
        if hasEvent { reportDiscarded(in: &queue, to: token, device, ids: &ids, nowMs: nowMs) }
        while let place = firstReady(in: queue, of: token, device, nowMs: nowMs) {
            handOver(queue.remove(at: place), to: token, device, nowMs: nowMs)
        }
        put(queue, of: token, device, nowMs: nowMs)
    }

    /// The place of the first message that the device can accept now.
    private func firstReady(
        in queue: DeviceQueue,
        of instance: String,
        _ device: Devices.Device,
        nowMs: Int64
    ) -> Int? {
        let slotMs = throttle.slotMs(instance, nowMs: nowMs)
        return queue.messages.firstIndex { message in
            DevicePolicy.readyMs(message, on: device, slotMs: slotMs).map { $0 <= nowMs } ?? false
        }
    }

    /// Moves an app instance to its new token. Call ``flush(_:of:ids:nowMs:)`` next, which sets its due time.
    mutating func rename(_ old: String, to new: String) {
        throttle.rename(old, to: new)
        if let queue = queues.remove(old) { queues.put(new, queue, dueMs: nil) }
    }

    /// Returns the deliveries since the last call whose sender wants a receipt, oldest first.
    mutating func removeConfirmed() -> [Delivery] {
        guard !confirmed.isEmpty else { return [] }
        defer { confirmed = [] }
        return confirmed
    }

    // MARK: Storing

    private mutating func store(
        _ message: StoredMessage,
        for instance: String,
        _ device: Devices.Device,
        of devices: inout Devices,
        ids: inout IdentifierSource,
        nowMs: Int64
    ) {
        guard queues.hasRoom(for: message) else {
            counts.drop(.noRoom)
            return
        }
        var queue = queues.remove(instance) ?? DeviceQueue()
        for (reason, count) in queue.add(message, isAndroid: device.platform == .android, random: &ids.random) {
            counts.drop(reason, times: count)
        }
        let hasLoss = queue.discarded > 0 && DevicePolicy.acceptsEvents(device)
        put(queue, of: instance, device, nowMs: nowMs)
        if hasLoss { flush(instance, of: &devices, ids: &ids, nowMs: nowMs) }
    }

    /// Drops the stored message with this one's key: the newer one arrives first.
    private mutating func dropOlder(
        than message: StoredMessage,
        _ instance: String,
        _ device: Devices.Device,
        nowMs: Int64
    ) {
        guard let key = message.collapseKey, queues.count > 0, var queue = queues.remove(instance) else { return }
        if queue.collapse(key) { counts.drop(.collapsed) }
        put(queue, of: instance, device, nowMs: nowMs)
    }

    private mutating func put(_ queue: DeviceQueue, of instance: String, _ device: Devices.Device, nowMs: Int64) {
        let slotMs = throttle.slotMs(instance, nowMs: nowMs)
        var dueMs: Int64?
        for message in queue.messages {
            let readyMs = DevicePolicy.readyMs(message, on: device, slotMs: slotMs) ?? message.expiresMs
            // A message that is ready already waits for the caller's next step.
            dueMs = min(dueMs ?? Int64.max, message.expiresMs, max(readyMs, nowMs))
        }
        queues.put(instance, queue, dueMs: dueMs)
    }

    // MARK: Delivering

    private mutating func handOver(
        _ message: StoredMessage,
        to instance: String,
        _ device: Devices.Device,
        nowMs: Int64
    ) {
        if message.isThrottled { throttle.consume(instance, nowMs: nowMs) }
        guard !DevicePolicy.losesSilently(message, on: device) else { return counts.drop(.silent) }
        let delivery = Delivery(
            accepted: message.accepted,
            platform: device.platform,
            timeMs: nowMs,
            package: device.package,
            appState: device.appState,
            priority: DevicePolicy.priority(message.accepted.priority, on: device)
        )
        record(delivery)
        if message.accepted.wantsReceipt { confirmed.append(delivery) }
    }

    /// Delivers the event with the number of messages that were thrown away.
    private mutating func reportDiscarded(
        in queue: inout DeviceQueue,
        to instance: String,
        _ device: Devices.Device,
        ids: inout IdentifierSource,
        nowMs: Int64
    ) {
        let own = AcceptedMessage(
            token: instance,
            messageID: ids.message(device.platform, nowMs: nowMs),
            senderID: queue.senderID,
            source: .none,
            acceptedMs: nowMs
        )
        record(
            Delivery(
                accepted: own,
                platform: device.platform,
                timeMs: nowMs,
                event: .deletedMessages(count: queue.removeDiscarded()),
                package: device.package,
                appState: device.appState
            )
        )
    }

    private mutating func record(_ delivery: Delivery) {
        counts.delivered += 1
        deliveries.add(delivery)
    }
}
