/// One reply, or a part of one.
public enum RedisValue: Equatable, Sendable {
    case null
    case integer(Int64)
    /// A status line such as `OK`.
    case status(String)
    case bulk([UInt8])
    case array([RedisValue])
    /// An error inside an array; at the top level it is a failed command.
    case error(String)

    public var array: [RedisValue]? {
        if case .array(let values) = self { return values }
        return nil
    }

    public var bytes: [UInt8]? {
        switch self {
        case .bulk(let bytes): return bytes
        case .status(let text): return Array(text.utf8)
        default: return nil
        }
    }

    /// Text; invalid UTF-8 is repaired with replacement characters.
    public var string: String? {
        switch self {
        case .bulk(let bytes): return String(decoding: bytes, as: UTF8.self)
        case .status(let text): return text
        case .integer(let number): return String(number)
        default: return nil
        }
    }

    /// A number, or text that is one.
    public var integer: Int64? {
        switch self {
        case .integer(let number): return number
        case .bulk, .status: return string.flatMap { Int64($0) }
        default: return nil
        }
    }
}
