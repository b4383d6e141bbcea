import FanfareJSON

/// The faults of XMPP. It has no paths, so a fault's path `xmpp` says that it is meant.
enum XMPPFault {
    static let path = "xmpp"
    private static let own: Set<String> = ["nack", "draining"]
    private static let shared: Set<String> = ["close", "delay_ms"]

    /// Refuses an action of the other kind, which would silently do nothing.
    static func check(_ action: JSONObject, isXMPP: Bool) throws(FaultRefusal) {
        for name in action.members.map(\.key) {
            if isXMPP, !own.contains(name), !shared.contains(name) {
                throw FaultRefusal(reason: "action.\(name): not an action on \(path)")
            }
            if !isXMPP, own.contains(name) { throw FaultRefusal(reason: "action.\(name): only on \(path)") }
        }
    }

    static func code(_ value: JSONValue) throws(FaultRefusal) -> String {
        guard let text = value.string, (1...64).contains(text.utf8.count),
            text.utf8.allSatisfy({ $0 == UInt8(ascii: "_") || ($0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "Z")) })
        else { throw FaultRefusal(reason: "action.nack: a code, such as SERVICE_UNAVAILABLE") }
        return text
    }
}
