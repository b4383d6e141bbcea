internal import FanfareJSON
internal import FanfareModel

/// The rule for a member of a message. ``SchemaChecker`` applies tables of rules.
indirect enum FieldRule: Sendable {
    case text(TextRule)
    case boolean
    /// A number written as an integer.
    case integer(ClosedRange<Int64>)
    /// A number from 0 to 1.
    case fraction
    case choice([String], anyCase: Bool)
    case array(of: FieldRule)
    /// An object whose values are all strings.
    case texts(TextsRule)
    case object(ObjectSchema)
    /// An object that the platform defines; only its size is checked.
    case anyObject
    case textOrAnyObject
    /// An object whose names follow the rules of `data`, with values of any kind but null.
    case anyData
    /// Allowed where the transport can carry this part.
    case part(TransportTraits.MessagePart, FieldRule)
    /// A known member that is never allowed, for this reason.
    case refused(String)
}

/// The grammar of a string.
enum TextRule: Equatable, Sendable {
    case any
    /// `#rrggbb`.
    case color
    case analyticsLabel
    case httpsLink
    /// An `http://` or `https://` URL, or empty, which protobuf reads as absent.
    case image
    case digits
    /// Seconds with up to nine decimals and an `s`, from 0 to so many seconds.
    case duration(maximumSeconds: Int64)
    /// RFC 3339.
    case timestamp
    /// A JSON array of strings, as text.
    case arrayText
}

/// The rule for the names and values of an object of strings.
enum TextsRule: Sendable {
    case data, webPushHeaders, apnsHeaders
}

/// The schema of an object: its members, and which of them are required.
struct ObjectSchema: Sendable {
    /// A member's canonical name and its rule.
    typealias Member = (name: String, rule: FieldRule)

    /// By canonical name.
    let rules: [String: FieldRule]
    /// By every spelling.
    private let members: [String: Member]
    /// True for protobuf JSON, where `null` is the same as absent and `collapse_key` the same as `collapseKey`.
    let isProtobuf: Bool
    /// Canonical names.
    let required: [String]

    /// - Parameters:
    ///   - rules: by canonical name.
    ///   - required: canonical names.
    init(_ rules: [String: FieldRule], isProtobuf: Bool = true, required: [String] = []) {
        var members: [String: Member] = [:]
        for (name, rule) in rules {
            members[name] = (name, rule)
            if isProtobuf { members[FieldName.snake(name)] = (name, rule) }
        }
        self.rules = rules
        self.members = members
        self.isProtobuf = isProtobuf
        self.required = required
    }

    /// Names are compared byte for byte; a dictionary alone would take a Kelvin sign for a K.
    func member(_ spelling: String) -> Member? {
        spelling.utf8.allSatisfy { $0 < 0x80 } ? members[spelling] : nil
    }
}
