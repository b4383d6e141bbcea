internal import FanfareJSON

/// What a member of a message may hold. A message's rules are data: tables of these, read by ``SchemaChecker``.
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
    /// An object of the platform's own; only its size counts.
    case anyObject
    case textOrAnyObject
    /// An object whose names are subject to the rules of data, and whose values may be anything that has a text form.
    case anyData
    /// May be there only where `transport` is XMPP.
    case onlyOverXMPP(FieldRule)
    /// May be there only where `transport` is not XMPP.
    case notOverXMPP(FieldRule)
    /// May be there only where a request is not plain text.
    case notAsText(FieldRule)
    /// Known, and refused with this rule.
    case refused(String)
}

/// What a string may say.
enum TextRule: Sendable {
    case any
    /// `#rrggbb`.
    case color
    case analyticsLabel
    case httpsLink
    /// An `http://` or `https://` URL, or nothing: to protobuf an empty text is an absent one.
    case image
    case digits
    /// Seconds with up to nine decimals and an `s`, from 0 to so many seconds.
    case duration(maxSeconds: Int64)
    /// RFC 3339.
    case timestamp
    /// A JSON array of strings, as text.
    case arrayText
}

/// What the names and values of an object of strings may be.
enum TextsRule: Sendable {
    case data, webPushHeaders, apnsHeaders
}

/// A kind of object: its members, and what they demand of each other.
struct ObjectSchema: Sendable {
    struct Member: Sendable {
        /// The canonical name.
        let name: String
        let rule: FieldRule
    }

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
            members[name] = Member(name: name, rule: rule)
            if isProtobuf { members[FieldName.snake(name)] = Member(name: name, rule: rule) }
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
