/// Frames of HTTP/2 as a server writes them.
enum Frames {
    static func frame(_ type: UInt8, _ flags: UInt8 = 0, _ stream: Int32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
        [UInt8(payload.count >> 16), UInt8(payload.count >> 8 & 255), UInt8(payload.count & 255), type, flags]
            + word(UInt32(stream)) + payload
    }

    static func word(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(value >> (24 - 8 * $0) & 255) } }

    /// Pairs of a setting's number and its value.
    static func settings(_ entries: [(UInt8, UInt32)] = [(3, 100)]) -> [UInt8] {
        frame(4, 0, 0, entries.flatMap { [0, $0.0] + word($0.1) })
    }

    static let settingsACK = frame(4, 1)

    /// A field as HPACK writes it without an index and without Huffman's code.
    static func field(_ name: String, _ value: String) -> [UInt8] {
        [0] + text(name) + text(value)
    }

    private static func text(_ text: String) -> [UInt8] {
        var head: [UInt8] = []
        var rest = text.utf8.count
        if rest < 127 {
            head = [UInt8(rest)]
        } else {
            head = [127]
            rest -= 127
            while rest >= 128 {
                head.append(UInt8(rest % 128 + 128))
                rest /= 128
            }
            head.append(UInt8(rest))
        }
        return head + Array(text.utf8)
    }

    static func headers(_ stream: Int32, _ fields: [(String, String)], ends: Bool = false) -> [UInt8] {
        frame(1, ends ? 5 : 4, stream, fields.flatMap { field($0.0, $0.1) })
    }

    static func status(_ stream: Int32, _ status: String = "200", ends: Bool = false) -> [UInt8] {
        headers(stream, [(":status", status), ("content-type", "application/json")], ends: ends)
    }

    static func data(_ stream: Int32, _ text: String, ends: Bool = true) -> [UInt8] {
        frame(0, ends ? 1 : 0, stream, Array(text.utf8))
    }

    static func answer(_ stream: Int32, _ text: String = "{}") -> [UInt8] { status(stream) + data(stream, text) }

    static func reset(_ stream: Int32, _ code: UInt32) -> [UInt8] { frame(3, 0, stream, word(code)) }

    static func goAway(last: Int32, _ code: UInt32 = 0) -> [UInt8] { frame(7, 0, 0, word(UInt32(last)) + word(code)) }

    static func windowUpdate(_ stream: Int32, _ bytes: UInt32) -> [UInt8] { frame(8, 0, stream, word(bytes)) }

    /// The frames that a client wrote, after its preface: type, flags and stream of each.
    static func parse(_ bytes: [UInt8]) -> [(type: UInt8, flags: UInt8, stream: Int32, payload: [UInt8])] {
        var frames: [(type: UInt8, flags: UInt8, stream: Int32, payload: [UInt8])] = []
        var rest = bytes[...]
        let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
        if rest.starts(with: preface) { rest = rest.dropFirst(preface.count) }
        while rest.count >= 9 {
            let head = Array(rest.prefix(9))
            let count = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
            let stream = head[5..<9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            frames.append((head[3], head[4], Int32(stream), Array(rest.dropFirst(9).prefix(count))))
            rest = rest.dropFirst(9 + count)
        }
        return frames
    }
}
