public import FanfareJSON
public import FanfareModel
public import FanfareTemplate

/// The messages of a personal job, and their sizes.
public struct PersonalMessages: Sendable {
    /// The job's message as the base, and each variant merged over it.
    public let messages: VariantTable<JSONObject>
    /// The sizes of each message as functions of a recipient's values.
    public let sizes: VariantTable<TemplateSize>

    /// - Parameter messages: checked by ``PersonalMessageChecker``.
    public init(_ messages: VariantTable<JSONObject>, format: MessageFormat) {
        let rules = MessageChecker(format: format, traits: .v1, isBroadcast: false)
        self.messages = messages
        sizes = messages.map { _, message in TemplateSize(message, measure: rules.totals) }
    }
}

/// Checks the `message` and the `variants` of a personal job.
///
/// Each merged message obeys the rules of an ordinary message, and its placeholders stand where they may. A text with a
/// placeholder has any format, such as that of a color; one that FCM refuses fails its recipient. The size is checked
/// without placeholders here, and for each recipient by ``PersonalRecipientRules``.
public struct PersonalMessageChecker: Sendable {
    /// Variants of a job, at most.
    public static let maximumVariants = 100
    /// Bytes of the field `variants`, at most: 100 messages of the largest size, with room for names and escapes.
    static let maximumBytes = 1_048_576

    private static let messagePath = EntryField.message.rawValue
    private static let variantsPath = "variants"

    private let rules: MessageChecker

    public init(format: MessageFormat, traits: TransportTraits) {
        rules = MessageChecker(format: format, traits: traits, isBroadcast: false)
    }

    /// - Parameters:
    ///   - message: the value of the field of that name.
    ///   - variants: the value of the field of that name; nil without it.
    /// - Throws: the first broken rule of the message, then of the variants in the order of their names' bytes. A path
    ///   in a variant begins with `variants.es`, even where only the merged message breaks the rule.
    public func check(message: [UInt8], variants: [UInt8]?) throws(EntryFault) -> PersonalMessages {
        let base = try Self.object(message)
        try check(base, at: Self.messagePath)
        let patches = try variants.map(Self.patches) ?? []
        var merged: [(name: String, value: JSONObject)] = []
        for (name, patch) in patches {
            let path = Self.path(of: name)
            try checkTarget(patch, at: path)
            let message = MergePatch.apply(patch, to: base)
            let (count, most) = (JSONValue.object(message).jsonBytes.count, MessageChecker.maximumBytes)
            try require(count <= most, path, "\(count) bytes of JSON when merged, at most \(most)")
            try check(message, at: path)
            merged.append((name, message))
        }
        return PersonalMessages(VariantTable(base: base, variants: merged), format: rules.format)
    }

    /// Merges the variants of a job that was checked when it was accepted.
    ///
    /// - Throws: for values that are not JSON objects, or longer than any job may have.
    public static func merge(message: [UInt8], variants: [UInt8]?) throws(EntryFault) -> VariantTable<JSONObject> {
        let base = try object(message)
        let patches = try variants.map(patches) ?? []
        return VariantTable(
            base: base,
            variants: patches.map { (name: $0.name, value: MergePatch.apply($0.patch, to: base)) }
        )
    }

    private func check(_ message: JSONObject, at path: String) throws(EntryFault) {
        try MessageChecker.checkWrapping(.object(message), at: path)
        do throws(TemplateFault) { try PlaceholderPaths.check(message, at: path, name: { Excerpt.plain($0) }) } catch {
            throw EntryFault(error.path, error.rule)
        }
        try rules.check(.object(message), at: path, isPersonal: true)
    }

    /// Refuses the fields that no message may have. A null would only remove them, and is refused as well.
    private func checkTarget(_ patch: JSONObject, at path: String) throws(EntryFault) {
        for member in patch.members {
            guard case .refused(let rule)? = rules.schema.member(member.key)?.rule else { continue }
            throw EntryFault("\(path).\(Excerpt.plain(member.key))", rule)
        }
    }

    private static func object(_ message: [UInt8]) throws(EntryFault) -> JSONObject {
        let value = try MessageChecker.read(
            message,
            at: messagePath,
            most: MessageChecker.maximumBytes,
            maximumDepth: MessageChecker.maximumDepth
        )
        guard let object = value.object else {
            throw EntryFault(messagePath, "must be an object, not \(value.kindName)")
        }
        return object
    }

    /// The variants in the order of their names' bytes.
    private static func patches(_ variants: [UInt8]) throws(EntryFault) -> [(name: String, patch: JSONObject)] {
        let depth = MessageChecker.maximumDepth + 1
        let value = try MessageChecker.read(variants, at: variantsPath, most: maximumBytes, maximumDepth: depth)
        guard let object = value.object else {
            throw EntryFault(variantsPath, "must be an object, not \(value.kindName)")
        }
        let (count, most) = (object.count, maximumVariants)
        try require(count <= most, variantsPath, "\(count) names, at most \(most)")
        var patches: [(name: String, patch: JSONObject)] = []
        for member in object.members.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            guard let patch = member.value.object else {
                throw EntryFault(path(of: member.key), "must be an object, not \(member.value.kindName)")
            }
            patches.append((member.key, patch))
        }
        return patches
    }

    private static func path(of variant: String) -> String { "\(variantsPath).\(Excerpt.plain(variant))" }
}
