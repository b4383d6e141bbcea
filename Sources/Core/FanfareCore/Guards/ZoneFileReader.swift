/// Reads a TZif file: RFC 8536 versions 1 to 3, and version 4 of RFC 9636.
///
/// The 64-bit block is read where there is one. Every count is checked against the length of the file before it is used.
struct ZoneFileReader {
    /// Bytes of the largest file; the largest of the time zone database has 4 kB.
    static let maximumBytes = 16_384

    /// The counts of a block's header.
    private struct Header {
        let version: UInt8
        let times: Int
        let types: Int
        let characters: Int
        let leapSeconds: Int
        let standardFlags: Int
        let utcFlags: Int

        /// Bytes of the block after the header.
        ///
        /// - Parameter timeSize: bytes of one time; 4 in the first block, 8 in the second.
        func length(timeSize: Int) -> Int {
            times * (timeSize + 1) + types * 6 + characters + leapSeconds * (timeSize + 4) + standardFlags + utcFlags
        }
    }

    private static let headerLength = 44
    /// `TZif`
    private static let magic: [UInt8] = [0x54, 0x5A, 0x69, 0x66]

    private let bytes: [UInt8]
    private var at = 0

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    static func read(_ bytes: [UInt8]) throws(ZoneFault) -> ZoneRules {
        guard bytes.count <= maximumBytes else {
            throw ZoneFault("\(bytes.count) bytes, at most \(maximumBytes)")
        }
        var reader = ZoneFileReader(bytes)
        return try reader.rules()
    }

    private mutating func rules() throws(ZoneFault) -> ZoneRules {
        let first = try header()
        guard first.version > 0 else { return try block(first, timeSize: 4, hasFooter: false) }
        guard first.length(timeSize: 4) <= bytes.count - at else { throw ZoneFault("the first block is cut off") }
        at += first.length(timeSize: 4)
        let second = try header()
        guard second.version == first.version else { throw ZoneFault("the two headers have different versions") }
        return try block(second, timeSize: 8, hasFooter: true)
    }

    private mutating func header() throws(ZoneFault) -> Header {
        guard bytes.count - at >= Self.headerLength else { throw ZoneFault("the header is cut off") }
        guard bytes[at..<at + 4].elementsEqual(Self.magic) else { throw ZoneFault("not a TZif file") }
        let version = bytes[at + 4]
        // A NUL byte for version 1, else a digit.
        guard version == 0 || UInt8(ascii: "2")...UInt8(ascii: "4") ~= version else {
            throw ZoneFault("unknown version, byte \(version)")
        }
        let counts = (0..<6).map { Int(UInt32(truncatingIfNeeded: integer(at: at + 20 + 4 * $0, size: 4))) }
        at += Self.headerLength
        return Header(
            version: version == 0 ? 0 : version - UInt8(ascii: "0"),
            times: counts[3],
            types: counts[4],
            characters: counts[5],
            leapSeconds: counts[2],
            standardFlags: counts[1],
            utcFlags: counts[0]
        )
    }

    /// A big-endian integer with its sign. The bytes must exist.
    private func integer(at offset: Int, size: Int) -> Int64 {
        var value: UInt64 = bytes[offset] >= 0x80 ? .max : 0
        for byte in bytes[offset..<offset + size] { value = value << 8 | UInt64(byte) }
        return Int64(bitPattern: value)
    }

    private mutating func block(_ header: Header, timeSize: Int, hasFooter: Bool) throws(ZoneFault) -> ZoneRules {
        guard header.leapSeconds == 0 else { throw ZoneFault("leap seconds") }
        guard (1...256).contains(header.types) else { throw ZoneFault("\(header.types) types, at most 256") }
        guard header.length(timeSize: timeSize) <= bytes.count - at else { throw ZoneFault("the block is cut off") }
        let (times, indexes) = (at, at + header.times * timeSize)
        let types = indexes + header.times
        at += header.length(timeSize: timeSize)
        var offsets: [Int64] = []
        for type in 0..<header.types {
            let offset = integer(at: types + 6 * type, size: 4)
            guard ZoneRules.offsetRange.contains(offset) else { throw ZoneFault("offset \(offset) of type \(type)") }
            offsets.append(offset)
        }
        var transitions: [ZoneRules.Transition] = []
        for index in 0..<header.times {
            let time = integer(at: times + index * timeSize, size: timeSize)
            let type = Int(bytes[indexes + index])
            guard type < offsets.count else { throw ZoneFault("transition \(index) has unknown type \(type)") }
            if let last = transitions.last, last.at >= time { throw ZoneFault("transition \(index) is not in order") }
            transitions.append(ZoneRules.Transition(at: time, offset: offsets[type]))
        }
        let rule = hasFooter ? try footer() : nil
        return ZoneRules(transitions: transitions, firstOffset: offsets[0], rule: rule)
    }

    /// The text between two line feeds; nil when it is empty.
    private func footer() throws(ZoneFault) -> PosixRule? {
        let rest = bytes[at...]
        guard rest.first == 0x0A, let end = rest.dropFirst().firstIndex(of: 0x0A) else {
            throw ZoneFault("the footer is cut off")
        }
        let text = rest[(at + 1)..<end]
        if text.isEmpty { return nil }
        guard let rule = PosixRuleParser.parse(text) else {
            throw ZoneFault("the footer is not a rule: \(Excerpt.quoted(text))")
        }
        return rule
    }
}
