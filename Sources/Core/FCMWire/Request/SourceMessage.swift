public import FanfareJSON
public import FanfareModel

/// The options of a job that change its requests.
public struct MessageOptions: Equatable, Sendable {
    public var format: MessageFormat
    /// FCM checks the message without delivering it.
    public var validateOnly: Bool
    public var delivery: DeliveryMode
    public var jobID: String

    public init(format: MessageFormat, validateOnly: Bool, delivery: DeliveryMode, jobID: String) {
        self.format = format
        self.validateOnly = validateOnly
        self.delivery = delivery
        self.jobID = jobID
    }
}

/// A job's message, parsed once, and the job's options: templates are made from it.
public struct SourceMessage: Sendable {
    /// The message's time to live; nil without one.
    public let lifetime: MessageLifetime?
    let object: JSONObject
    let options: MessageOptions

    /// - Throws: when the message is not an object or carries its own target.
    public init(
        _ message: [UInt8],
        format: MessageFormat,
        validateOnly: Bool,
        delivery: DeliveryMode,
        jobID: String
    ) throws(TranslationError) {
        let parsed: JSONValue
        do throws(JSONError) { parsed = try JSONParser.parse(message) } catch {
            throw TranslationError([], "not JSON: \(error)")
        }
        guard let object = parsed.object else { throw TranslationError([], "must be an object") }
        let options = MessageOptions(format: format, validateOnly: validateOnly, delivery: delivery, jobID: jobID)
        try self.init(object, options)
    }

    /// - Throws: when the message carries its own target.
    public init(_ object: JSONObject, _ options: MessageOptions) throws(TranslationError) {
        for name in options.format == .v1 ? Self.v1Targets : Self.legacyTargets where object[name] != nil {
            throw TranslationError([name], "the target belongs in the job's own field")
        }
        self.object = object
        self.options = options
        let own = options.format == .v1 ? MessageLifetime(v1: object) : MessageLifetime(legacy: object)
        lifetime = own == MessageLifetime() ? nil : own
    }

    /// The message as a legacy body without its target.
    ///
    /// - Throws: naming the first field that the dialect does not have.
    func legacy(_ dialect: LegacyDialect) throws(TranslationError) -> JSONObject {
        var message: JSONObject
        if options.format == .v1 {
            message = try V1ToLegacy.translate(object, dialect)
        } else {
            message = try LegacyData.withTextValues(try fields(for: dialect))
        }
        if options.delivery == .replace { ReplaceMarks.addLegacy(to: &message, jobID: options.jobID) }
        if options.validateOnly { message["dry_run"] = true }
        return message
    }

    private func fields(for dialect: LegacyDialect) throws(TranslationError) -> JSONObject {
        for member in object.members where member.value != .null {
            if let rule = dialect.fault(of: member.key) { throw TranslationError([member.key], rule) }
        }
        guard dialect != .json else { return object }
        // A null is the same as an absent field, whatever its name.
        return JSONObject(object.members.filter { $0.value != .null })
    }

    private static let v1Targets = ["token", "fid", "topic", "condition"]
    private static let legacyTargets = [
        "to", "registration_id", "registration_ids", "condition", "notification_key",
    ]
}
