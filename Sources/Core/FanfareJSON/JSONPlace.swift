/// Finds the places of values in a JSON text, for messages to its author.
public enum JSONPlace {
    /// The byte at which the member or element that a path names begins, or the innermost one around it that the text
    /// has; nil if the text is not JSON or has none of them.
    ///
    /// - Parameters:
    ///   - path: such as `message.data.key` or `tokens[17]`.
    ///   - root: the path of the whole text, such as `message`; empty for none.
    ///   - name: a member's name as paths spell it.
    public static func offset(
        of path: String,
        root: String = "",
        in bytes: [UInt8],
        name: (String) -> String = { $0 }
    ) -> Int? {
        var scanner = JSONScanner(bytes: bytes, maximumDepth: JSONLimits().maximumDepth)
        scanner.skipSpace()
        return try? scanner.offset(of: path, at: root, name)
    }
}

extension JSONScanner {
    /// Searches the value that begins at ``next``, whose path is `parent`.
    fileprivate mutating func offset(
        of path: String,
        at parent: String,
        _ name: (String) -> String
    ) throws(JSONError) -> Int? {
        if skip("{") { return try offset(ofMember: path, at: parent, name) }
        if skip("[") { return try offset(ofElement: path, at: parent, name) }
        return nil
    }

    private mutating func offset(
        ofMember path: String,
        at parent: String,
        _ name: (String) -> String
    ) throws(JSONError) -> Int? {
        var found: Int?
        skipSpace()
        while nextByte == UInt8(ascii: "\"") {
            let start = next
            let key = name(try string())
            skipSpace()
            guard skip(":") else { throw error("missing colon after a name") }
            skipSpace()
            let child = parent.isEmpty ? key : "\(parent).\(key)"
            // Of equal names the last one counts.
            if path == child || path.hasPrefix(child + ".") || path.hasPrefix(child + "[") {
                var inner = self
                found = try inner.offset(of: path, at: child, name) ?? start
            }
            _ = try value()
            skipSpace()
            guard skip(",") else { break }
            skipSpace()
        }
        return found
    }

    private mutating func offset(
        ofElement path: String,
        at parent: String,
        _ name: (String) -> String
    ) throws(JSONError) -> Int? {
        let rest = path.hasPrefix(parent + "[") ? path.dropFirst(parent.count + 1) : ""
        guard let index = Int(rest.prefix { $0 != "]" }), index >= 0 else { return nil }
        for _ in 0..<index {
            skipSpace()
            _ = try value()
            skipSpace()
            guard skip(",") else { return nil }
        }
        skipSpace()
        let start = next
        return try offset(of: path, at: "\(parent)[\(index)]", name) ?? start
    }
}
