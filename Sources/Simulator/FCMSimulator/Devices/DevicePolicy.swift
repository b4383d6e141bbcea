/// What a device's state means for messages to it.
enum DevicePolicy {
    static let dayMs: Int64 = 86_400_000
    /// An Android device that has been silent for longer gets nothing stored.
    static let inactiveMs = 30 * dayMs
    /// An Android token that has been silent for so long is no token any more.
    static let tokenLifeMs = 270 * dayMs
    /// So long after the last data message a device that was inactive is still told that it missed some.
    static let missedMs = 28 * dayMs

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

    /// Until when a message that comes in now has to wait for no other reason than its low priority, Unix milliseconds;
    /// 0 when it need not. Now or never is never delayed.
    static func heldUntilMs(_ message: StoredMessage, on device: Devices.Device, nowMs: Int64) -> Int64 {
        guard device.normalDelayMs > 0, device.appState == .background, !message.isNowOrNever,
            priority(message.accepted.priority, on: device) == .normal
        else { return 0 }
        return nowMs &+ device.normalDelayMs
    }

    /// When the message can reach the device as it is now, Unix milliseconds; nil while it cannot.
    ///
    /// - Parameter slotMs: when the device may next get a message that is throttled.
    static func readyMs(_ message: StoredMessage, on device: Devices.Device, slotMs: Int64) -> Int64? {
        guard device.isOnline else { return nil }
        let isNormal = priority(message.accepted.priority, on: device) == .normal
        if isNormal, device.appState == .doze { return nil }
        let heldMs = isNormal && device.appState == .background ? message.heldUntilMs : 0
        return message.isThrottled ? max(heldMs, slotMs) : heldMs
    }

    /// True when the device can be told of messages that were thrown away.
    static func takesEvents(_ device: Devices.Device) -> Bool {
        device.platform == .android && device.isOnline && device.appState != .doze
    }

    /// Apple: pushes that would only wake the app are lost, and nobody is told.
    static func losesSilently(_ message: StoredMessage, on device: Devices.Device) -> Bool {
        message.isSilent && device.platform == .apple
            && (device.appState == .forceQuit || device.appState == .lowPower)
    }
}
