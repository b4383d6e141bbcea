/// Writes TZif files for tests.
struct ZoneFile {
    /// `"\0"` for version 1, else a digit.
    var version: Character = "2"
    /// Unix seconds and the index of the type that begins then.
    var transitions: [(at: Int64, type: UInt8)] = []
    /// Seconds east of UTC by type.
    var offsets: [Int32] = [0]
    var footer = ""
    var leapSeconds: UInt32 = 0

    /// Central European Time with the changes of the European Union.
    static let madrid = ZoneFile(offsets: [3_600], footer: "CET-1CEST,M3.5.0,M10.5.0/3")

    var bytes: [UInt8] {
        let isFirstVersion = version == "\0"
        // The first block of a later version is empty, as `zic -b slim` writes it.
        let first =
            isFirstVersion
            ? block(timeSize: 4, transitions: transitions, offsets: offsets)
            : block(timeSize: 4, transitions: [], offsets: [0])
        guard !isFirstVersion else { return first }
        return first + block(timeSize: 8, transitions: transitions, offsets: offsets) + Array("\n\(footer)\n".utf8)
    }

    private func block(timeSize: Int, transitions: [(at: Int64, type: UInt8)], offsets: [Int32]) -> [UInt8] {
        var bytes = Array("TZif".utf8) + Array(String(version).utf8) + [UInt8](repeating: 0, count: 15)
        for count in [0, 0, leapSeconds, UInt32(transitions.count), UInt32(offsets.count), 4] {
            bytes += Self.bigEndian(Int64(count), 4)
        }
        for transition in transitions { bytes += Self.bigEndian(transition.at, timeSize) }
        bytes += transitions.map(\.type)
        for offset in offsets { bytes += Self.bigEndian(Int64(offset), 4) + [0, 0] }
        return bytes + Array("LMT\0".utf8) + [UInt8](repeating: 0, count: Int(leapSeconds) * (timeSize + 4))
    }

    private static func bigEndian(_ value: Int64, _ size: Int) -> [UInt8] {
        (0..<size).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }
}
