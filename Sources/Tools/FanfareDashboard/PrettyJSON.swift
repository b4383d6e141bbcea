internal import FanfareJSON

/// JSON for readers: one member a line, indented by two spaces; numbers as they were written.
enum PrettyJSON {
    static func text(_ value: JSONValue) -> String {
        var bytes: [UInt8] = []
        append(value, to: &bytes, depth: 0)
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func append(_ value: JSONValue, to bytes: inout [UInt8], depth: Int) {
        switch value {
        case .array(let elements) where !elements.isEmpty:
            appendLines(elements, "[", "]", to: &bytes, depth: depth) { append($0, to: &$1, depth: depth + 1) }
        case .object(let object) where !object.isEmpty:
            appendLines(object.members, "{", "}", to: &bytes, depth: depth) { member, bytes in
                bytes.appendJSONString(member.key)
                bytes.append(contentsOf: ": ".utf8)
                append(member.value, to: &bytes, depth: depth + 1)
            }
        default: bytes.appendJSON(value)
        }
    }

    private static func appendLines<Item>(
        _ items: [Item],
        _ open: String,
        _ close: String,
        to bytes: inout [UInt8],
        depth: Int,
        _ body: (Item, inout [UInt8]) -> Void
    ) {
        bytes.append(contentsOf: open.utf8)
        for (index, item) in items.enumerated() {
            bytes.append(contentsOf: index == 0 ? "\n".utf8 : ",\n".utf8)
            bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * (depth + 1)))
            body(item, &bytes)
        }
        bytes.append(UInt8(ascii: "\n"))
        bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * depth))
        bytes.append(contentsOf: close.utf8)
    }
}
