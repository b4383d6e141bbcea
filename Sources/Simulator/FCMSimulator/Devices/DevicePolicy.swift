/// The rules by which a device's state decides about messages to it.
enum DevicePolicy {
    static let dayMs: Int64 = 86_400_000
    /// FCM stores nothing for an Android device that has been silent for longer.
    static let inactiveMs = 30 * dayMs
    /// An Android token expires after so long a silence.
    static let tokenLifeMs = 270 * dayMs
    /// An inactive device that returns gets the event of missed messages until so long after the last data message.
    static let missedMs = 28 * dayMs

    /// Why the device itself refuses the message; nil if it does not.
    static func failure(
        of device: Devices.Device,
        traits: MessageTraits,
        senderID: String,
        nowMs: Int64
    ) -> DeviceFailure? {
        switch device.state {
        case .healthy, .uninstalled: break
        case .unregistered: return device.platform == .apple ? .appleUnregistered : .unregistered
        case .disabled: return .appleDisabled
        }
        if isExpired(device, nowMs: nowMs) { return .unregistered }
        if let senders = device.senders, !senders.contains(senderID) { return .mismatch }
        if device.platform == .android, let wanted = traits.restrictedPackage, let package = device.package,
            !wanted.isExactly(package)
        {
            return .package
        }
        return nil
    }

    /// How long an Android device has been offline; 0 for any other device.
    static func silentMs(_ device: Devices.Device, nowMs: Int64) -> Int64 {
        guard device.platform == .android, case .offline(let sinceMs) = device.connection else { return 0 }
        return max(0, nowMs &- sinceMs)
    }

    static func isInactive(_ device: Devices.Device, nowMs: Int64) -> Bool {
        silentMs(device, nowMs: nowMs) > inactiveMs
    }

    static func isExpired(_ device: Devices.Device, nowMs: Int64) -> Bool {
        silentMs(device, nowMs: nowMs) >= tokenLifeMs
    }

    static func isGone(_ device: Devices.Device, nowMs: Int64) -> Bool {
        switch device.state {
        case .unregistered, .disabled: return true
        case .healthy, .uninstalled: return isExpired(device, nowMs: nowMs)
        }
    }

    static func priority(_ asked: MessagePriority, on device: Devices.Device) -> MessagePriority {
        device.isHighLowered ? .normal : asked
    }

    /// Until when its low priority delays a message that comes now, Unix milliseconds; 0 for no delay. A message that
    /// is never stored is never delayed.
    static func heldUntilMs(_ message: StoredMessage, on device: Devices.Device, nowMs: Int64) -> Int64 {
        guard device.normalDelayMs > 0, device.appState == .background, !message.isNowOrNever,
            priority(message.accepted.priority, on: device) == .normal
        else { return 0 }
        return nowMs &+ device.normalDelayMs
    }

    /// When the message can reach the device in its present state, Unix milliseconds; nil while it cannot.
    ///
    /// - Parameter slotMs: when the throttle lets the next message through.
    static func readyMs(_ message: StoredMessage, on device: Devices.Device, slotMs: Int64) -> Int64? {
        guard device.isOnline else { return nil }
        let isNormal = priority(message.accepted.priority, on: device) == .normal
        if isNormal, device.appState == .doze { return nil }
        let heldMs = isNormal && device.appState == .background ? message.heldUntilMs : 0
        return message.isThrottled ? max(heldMs, slotMs) : heldMs
    }

    /// True if the device can get the event of discarded messages now.
    static func acceptsEvents(_ device: Devices.Device) -> Bool {
        device.platform == .android && device.isOnline && device.appState != .doze
    }

    /// Apple: the system drops a push that only wakes the app, and reports nothing.
    static func losesSilently(_ message: StoredMessage, on device: Devices.Device) -> Bool {
        message.isSilent && device.platform == .apple
            && (device.appState == .forceQuit || device.appState == .lowPower)
    }
}
