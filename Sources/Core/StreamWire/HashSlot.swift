/// The slot of a Redis Cluster that a key lives in: CRC16 (XMODEM) of the key or of its hash tag, modulo 16,384.
public struct HashSlot: Hashable, Sendable {
    public static let count = 16_384

    /// 0 to 16383.
    public let number: Int

    /// nil out of range.
    public init?(_ number: Int) {
        guard (0..<Self.count).contains(number) else { return nil }
        self.number = number
    }

    public init(key: some Collection<UInt8>) {
        let key = Array(key)
        var tag = key[...]
        if let open = key.firstIndex(of: UInt8(ascii: "{")),
            let close = key[(open + 1)...].firstIndex(of: UInt8(ascii: "}")), close > open + 1
        {
            tag = key[(open + 1)..<close]
        }
        number = Int(Self.crc16(tag)) % Self.count
    }

    public init(key: String) { self.init(key: key.utf8) }

    private static func crc16(_ bytes: ArraySlice<UInt8>) -> UInt16 {
        var crc: UInt16 = 0
        for byte in bytes {
            crc ^= UInt16(byte) << 8
            for _ in 0..<8 { crc = crc & 0x8000 == 0 ? crc << 1 : crc << 1 ^ 0x1021 }
        }
        return crc
    }
}
