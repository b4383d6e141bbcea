/// A key that a user pressed, read from the bytes that a terminal sends for it.
enum TopKey: Equatable {
    case up, down, pageUp, pageDown, home, end, enter, escape, backspace
    case text(Character)

    /// The ends of the escape sequences `ESC [ …` and `ESC O …`.
    private static let sequences: [String: TopKey] = [
        "A": .up, "B": .down, "H": .home, "F": .end, "1~": .home, "4~": .end, "5~": .pageUp, "6~": .pageDown,
        "7~": .home, "8~": .end,
    ]

    /// - Parameter bytes: whole sequences; unknown ones and bytes that are no UTF-8 are ignored.
    static func keys(_ bytes: [UInt8]) -> [TopKey] {
        var keys: [TopKey] = []
        var rest = bytes[...]
        while let first = rest.first {
            if first == 0x1B, let introducer = rest.dropFirst().first, introducer == 0x5B || introducer == 0x4F {
                let tail = rest.dropFirst(2)
                let length = tail.firstIndex { (0x40...0x7E).contains($0) }.map { $0 - tail.startIndex + 1 }
                let body = tail.prefix(length ?? tail.count)
                if let key = sequences[String(decoding: body, as: UTF8.self)] { keys.append(key) }
                rest = tail.dropFirst(body.count)
                continue
            }
            let end = rest.firstIndex { $0 < 0x20 || $0 == 0x7F } ?? rest.endIndex
            if end > rest.startIndex {
                keys += String(decoding: rest[..<end], as: UTF8.self).filter { $0 != "\u{FFFD}" }.map { .text($0) }
                rest = rest[end...]
            } else {
                if let key = control(first) { keys.append(key) }
                rest = rest.dropFirst()
            }
        }
        return keys
    }

    private static func control(_ byte: UInt8) -> TopKey? {
        switch byte {
        case 0x0A, 0x0D: .enter
        case 0x1B: .escape
        case 0x08, 0x7F: .backspace
        default: nil
        }
    }
}
