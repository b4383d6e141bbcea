internal import FanfareModel

/// An IPv4 or IPv6 address.
struct NetworkAddress: Equatable, Sendable {
    /// 4 or 16. An IPv6 address that embeds an IPv4 one (`::ffff:192.0.2.1`) is that one.
    let bytes: [UInt8]

    /// - Parameter text: as the system prints it. A zone, as in `fe80::1%eth0`, is ignored. Nil for anything else.
    init?(_ text: some StringProtocol) {
        let address = text.prefix { $0 != "%" }
        guard address.utf8.count <= 45 else { return nil }
        if address.contains(":") {
            guard let read = Self.version6(address) else { return nil }
            let isMapped = read.prefix(10).allSatisfy { $0 == 0 } && read[10] == 0xFF && read[11] == 0xFF
            bytes = isMapped ? Array(read.suffix(4)) : read
        } else {
            guard let read = Self.version4(address) else { return nil }
            bytes = read
        }
    }

    /// The network that one client has: an IPv4 address, or the first 64 bits of an IPv6 address.
    var clientNetwork: String {
        if bytes.count == 4 { return bytes.map { String($0) }.joined(separator: ".") }
        let groups = stride(from: 0, to: 8, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
        return groups.map { String($0, radix: 16) }.joined(separator: ":") + "::/64"
    }

    private static func version4(_ text: some StringProtocol) -> [UInt8]? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let bytes = parts.compactMap { part in
            part.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? UInt8(part) : nil
        }
        return parts.count == 4 && bytes.count == 4 ? bytes : nil
    }

    private static func version6(_ text: some StringProtocol) -> [UInt8]? {
        let halves = String(text).split(separator: "::", omittingEmptySubsequences: false)
        guard halves.count <= 2, let start = groups(halves[0], isEnd: halves.count == 1),
            let end = halves.count < 2 ? [] : groups(halves[1], isEnd: true)
        else { return nil }
        let gap = 16 - start.count - end.count
        // `::` stands for one group at least.
        guard halves.count == 1 ? gap == 0 : gap >= 2 else { return nil }
        return start + [UInt8](repeating: 0, count: gap) + end
    }

    /// - Parameter isEnd: whether the last group may be an IPv4 address.
    private static func groups(_ text: Substring, isEnd: Bool) -> [UInt8]? {
        if text.isEmpty { return [] }
        var bytes: [UInt8] = []
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            if isEnd, index == parts.count - 1, part.contains(".") {
                guard let last = version4(part) else { return nil }
                bytes += last
            } else {
                guard (1...4).contains(part.utf8.count), part.utf8.allSatisfy({ $0.hexDigitValue != nil }),
                    let group = UInt16(part, radix: 16)
                else { return nil }
                bytes += [UInt8(group >> 8), UInt8(group & 0xFF)]
            }
        }
        return bytes
    }
}
