/// From a message that was accepted to a device that has it, or never will.
extension Simulator {
    /// Delivers a message that its device did not refuse, stores it, or drops it.
    mutating func post(_ accepted: AcceptedMessage, traits: MessageTraits, now: Int64) {
        let (instance, device) = self.instance(of: accepted.token, now: now)
        var message = StoredMessage(accepted, options: traits.options(for: device.platform), package: device.package)
        if DevicePolicy.isInactive(device, nowMs: now) {
            statistics.countDropped(.inactive)
            var box = queues.take(instance) ?? DeviceQueue()
            box.miss(message, nowMs: now)
            put(instance, box, device, now: now)
            return
        }
        message.heldUntilMs = DevicePolicy.heldUntilMs(message, on: device, nowMs: now)
        let slotMs = message.isThrottled ? throttle.slotMs(instance, nowMs: now) : now
        if let readyMs = DevicePolicy.readyMs(message, on: device, slotMs: slotMs), readyMs <= now {
            dropOlder(than: message, instance, device, now: now)
            _ = arrive(message, instance, device, now: now)
        } else if message.isNowOrNever {
            statistics.countDropped(.nowOrNever)
        } else if message.expiresMs <= now {
            statistics.countDropped(.expired)
        } else {
            store(message, instance, device, now: now)
        }
    }

    /// Lets happen what was due by then, each thing at its own time: fan-outs end, what was held back is delivered, and
    /// what is too old goes.
    mutating func settle(now: Int64) {
        for (fanout, message) in fanouts.advance(to: now) {
            settleQueues(now: fanout.finishedMs ?? now)
            if let message { deliver(message, of: fanout, now: fanout.finishedMs ?? now) }
        }
        settleQueues(now: now)
        settleXMPP(now: now)
    }

    private mutating func settleQueues(now: Int64) {
        while let (instance, dueMs) = queues.nextDue(nowMs: now) { emptyQueue(instance, now: dueMs) }
    }

    /// Gives the device what it can take now. Call it whenever the device has changed.
    mutating func emptyQueue(_ instance: String, now: Int64) {
        guard var box = queues.take(instance) else { return }
        let (_, device) = self.instance(of: instance, now: now)
        statistics.countDropped(.expired, times: box.expire(nowMs: now))
        if DevicePolicy.isGone(device, nowMs: now) {
            statistics.countDropped(.unregistered, times: box.removeAll())
            return
        }
        if device.isOnline { box.settleMissed(nowMs: now) }
        var isInstalled = true
        if box.tellsOfLoss, DevicePolicy.takesEvents(device) {
            isInstalled = tellOfLoss(box.takeDiscarded(), senderID: box.senderID, instance, device, now: now)
        }
        while isInstalled {
            let slotMs = throttle.slotMs(instance, nowMs: now)
            let message = box.takeFirst { message in
                DevicePolicy.readyMs(message, on: device, slotMs: slotMs).map { $0 <= now } ?? false
            }
            guard let message else { break }
            isInstalled = arrive(message, instance, device, now: now)
        }
        guard isInstalled else {
            statistics.countDropped(.uninstalled, times: box.removeAll())
            return
        }
        put(instance, box, device, now: now)
    }

    /// The app instance behind a token, as it is now.
    func instance(of token: String, now: Int64) -> (token: String, device: Devices.Device) {
        if case .known(let instance, let device) = devices.instance(token, nowMs: now) { return (instance, device) }
        return (token, Devices.Device(platform: TokenBehaviour(token).platform))
    }

    // MARK: Storing

    private mutating func store(_ message: StoredMessage, _ instance: String, _ device: Devices.Device, now: Int64) {
        guard queues.hasRoom(for: message) else {
            statistics.countDropped(.noRoom)
            return
        }
        var box = queues.take(instance) ?? DeviceQueue()
        for (reason, count) in box.add(message, isAndroid: device.platform == .android, random: &random) {
            statistics.countDropped(reason, times: count)
        }
        let isTold = box.tellsOfLoss && DevicePolicy.takesEvents(device)
        put(instance, box, device, now: now)
        if isTold { emptyQueue(instance, now: now) }
    }

    /// A stored message is dropped when a newer one with its key arrives before it.
    private mutating func dropOlder(
        than message: StoredMessage,
        _ instance: String,
        _ device: Devices.Device,
        now: Int64
    ) {
        guard let key = message.collapseKey, queues.boxCount > 0, var box = queues.take(instance) else { return }
        if box.collapse(key) { statistics.countDropped(.collapsed) }
        put(instance, box, device, now: now)
    }

    private mutating func put(_ instance: String, _ box: DeviceQueue, _ device: Devices.Device, now: Int64) {
        let slotMs = throttle.slotMs(instance, nowMs: now)
        var dueMs: Int64?
        for message in box.messages {
            let readyMs = DevicePolicy.readyMs(message, on: device, slotMs: slotMs) ?? message.expiresMs
            // Something that is ready already waits for the caller's next step.
            dueMs = min(dueMs ?? Int64.max, message.expiresMs, max(readyMs, now))
        }
        queues.put(instance, box, dueMs: dueMs)
    }

    // MARK: Arriving

    /// - Returns: false when the attempt shows that the app is gone.
    private mutating func arrive(
        _ message: StoredMessage,
        _ instance: String,
        _ device: Devices.Device,
        now: Int64
    ) -> Bool {
        guard isInstalled(instance, device) else {
            statistics.countDropped(.uninstalled)
            return false
        }
        if message.isThrottled { throttle.take(instance, nowMs: now) }
        guard !DevicePolicy.losesSilently(message, on: device) else {
            statistics.countDropped(.silent)
            return true
        }
        let accepted = message.accepted
        record(
            Delivery(
                token: accepted.token,
                platform: device.platform,
                timeMs: now,
                acceptedMs: accepted.acceptedMs,
                messageID: accepted.messageID,
                senderID: accepted.senderID,
                from: accepted.from,
                source: accepted.source,
                package: device.package,
                appState: device.appState,
                originalPriority: accepted.priority,
                deliveredPriority: DevicePolicy.priority(accepted.priority, on: device)
            )
        )
        return true
    }

    private mutating func tellOfLoss(
        _ count: Int,
        senderID: String,
        _ instance: String,
        _ device: Devices.Device,
        now: Int64
    ) -> Bool {
        guard isInstalled(instance, device) else { return false }
        record(
            Delivery(
                token: instance,
                platform: device.platform,
                timeMs: now,
                messageID: messageID(device.platform, now: now),
                senderID: senderID,
                source: .none,
                event: .deletedMessages(count: count),
                package: device.package,
                appState: device.appState
            )
        )
        return true
    }

    /// An attempt at an app that is gone is how FCM learns of it.
    private mutating func isInstalled(_ instance: String, _ device: Devices.Device) -> Bool {
        guard device.state == .uninstalled else { return true }
        var device = device
        device.state = .unregistered
        // It is there already, and so there is room for it.
        _ = devices.put(instance, device)
        return false
    }

    /// The one place at which a device gets something.
    private mutating func record(_ delivery: Delivery) {
        statistics.delivered += 1
        deliveries.add(delivery)
        confirm(delivery)
    }
}
