public import FanfareJSON
public import FanfareModel
public import FanfareTemplate

/// The messages of a personal job, prepared once: a send copies bytes, and inserts its recipient and its values.
///
/// A request equals the one that ``RequestTemplate``, ``PlainTextTemplate`` or ``XMPPTemplate`` writes for the filled
/// message of its recipient, byte for byte. Values change no decision of the translation:
///
/// - A text whose translation depends on values is refused; see `PersonalTexts`.
/// - With `delivery=replace`, a notification tag with placeholders counts as the message's own tag. It does so even for a
///   recipient whose values are empty.
/// - The legacy arguments of localized texts are a JSON array written as a string. A value is text within one string of
///   that array, and cannot add an argument.
///
/// A recipient needs a value for the placeholders of its request only: a text that the transport does not carry needs none.
/// Each recipient needs a request of its own, over legacy too.
public struct PersonalTemplate: Sendable {
    private let messages: VariantTable<PersonalMessage>

    /// Translates each message between the formats where transport and format differ.
    ///
    /// - Parameters:
    ///   - messages: the job's message, and its variants merged over it; their placeholders are checked by
    ///     `PlaceholderPaths`.
    ///   - legacyBody: ignored unless the transport is legacy.
    ///   - name: the spelling of a variant's name in errors.
    /// - Throws: when a message has no counterpart on the transport. The reason begins with `message` or `variants.es`.
    public init(
        _ messages: VariantTable<JSONObject>,
        _ options: MessageOptions,
        transport: Transport,
        legacyBody: LegacyBody,
        name: (String) -> String = { $0 }
    ) throws(TranslationError) {
        self.messages = try messages.map { (variant, message) throws(TranslationError) in
            do throws(TranslationError) {
                return try PersonalMessage(message, options, transport: transport, legacyBody: legacyBody)
            } catch {
                throw variant.map { TranslationError(error, variant: name($0)) } ?? error
            }
        }
    }

    /// The time to live of the variant's message; nil without one.
    ///
    /// - Parameter variant: the recipient's; nil without one.
    public func lifetime(for variant: SharedText?) -> MessageLifetime? { messages.value(for: variant).lifetime }

    /// Checks that the recipient has well-formed values, and one for each placeholder without a fallback.
    ///
    /// - Throws: such as `vars.name: missing`.
    public func check(_ recipient: RecipientElement) throws(TemplateFault) {
        if let fault = recipient.fault { throw fault }
        _ = try messages.value(for: recipient.variant).count(of: recipient.variables)
    }

    /// Appends the request for one recipient; over XMPP the JSON of a stanza, not escaped for XML.
    ///
    /// - Parameters:
    ///   - recipient: the token or id obeys the rules for tokens; an installation id travels over v1 only.
    ///   - messageID: the id of an XMPP message, ignored elsewhere.
    ///   - nowMs: Unix milliseconds of the attempt.
    ///   - body: stays as it is when an error is thrown.
    /// - Throws: what ``check(_:)`` throws.
    public func render(
        _ recipient: RecipientElement,
        messageID: String,
        nowMs: Int64,
        into body: inout [UInt8]
    ) throws(TemplateFault) {
        if let fault = recipient.fault { throw fault }
        let message = messages.value(for: recipient.variant)
        try message.render(recipient, messageID: messageID, nowMs: nowMs, into: &body)
    }
}

/// One message of a ``PersonalTemplate``. A class, so that finding it copies a reference.
private final class PersonalMessage: Sendable {
    /// What follows the target in a request.
    private enum Tail: Sendable {
        /// - Parameter ending: what follows the spliced part; nil without a time in the message.
        case request(isV1: Bool, SplicedTemplate<JSONSplicing>, ending: Ending?)
        case form(SplicedTemplate<FormSplicing>)
        case stanza(SplicedTemplate<JSONSplicing>)
    }

    /// The end of a v1 request whose last header names a moment. No placeholder stands in it.
    private struct Ending: Sendable {
        let slot: RequestTemplate.ExpirationSlot
        /// Bytes after the slot.
        let rest: [UInt8]
    }

    let lifetime: MessageLifetime?
    private let tail: Tail

    init(
        _ message: JSONObject,
        _ options: MessageOptions,
        transport: Transport,
        legacyBody: LegacyBody
    ) throws(TranslationError) {
        let prepared = try PersonalTexts.prepared(message, format: options.format, transport: transport)
        let source = try SourceMessage(prepared, options)
        lifetime = source.lifetime
        switch (transport, legacyBody) {
        case (.xmpp, _): tail = .stanza(try Self.compile(try XMPPTemplate(source).tail))
        case (.legacy, .text): tail = .form(try Self.compile(try PlainTextTemplate(source).tail))
        case (.v1, _), (.legacy, .json):
            let template = try RequestTemplate(source, transport: transport)
            let end = template.expiration?.offset ?? template.tail.count
            let ending = template.expiration.map { Ending(slot: $0, rest: Array(template.tail[end...])) }
            let spliced: SplicedTemplate<JSONSplicing> = try Self.compile(Array(template.tail[..<end]))
            tail = .request(isV1: transport == .v1, spliced, ending: ending)
        }
    }

    private static func compile<Encoding: SpliceEncoding>(
        _ text: [UInt8]
    ) throws(TranslationError) -> SplicedTemplate<Encoding> {
        do throws(PlaceholderError) { return try SplicedTemplate(text) } catch {
            throw TranslationError([], error.rule)
        }
    }

    /// Bytes of the spliced part.
    func count(of variables: [TemplateVariable]) throws(TemplateFault) -> Int {
        switch tail {
        case .request(_, let spliced, _), .stanza(let spliced): try spliced.count(of: variables)
        case .form(let spliced): try spliced.count(of: variables)
        }
    }

    func render(
        _ recipient: RecipientElement,
        messageID: String,
        nowMs: Int64,
        into body: inout [UInt8]
    ) throws(TemplateFault) {
        let (variables, name) = (recipient.variables, recipient.recipient.string)
        // Before the head, so that a missing value leaves the body alone.
        let count = try count(of: variables)
        switch tail {
        case .request(let isV1, let spliced, let ending):
            RequestTemplate.appendHead(
                isV1: isV1,
                kind: recipient.kind,
                recipient: name,
                tailCount: count + (ending.map { $0.rest.count + 20 } ?? 0),
                to: &body
            )
            try spliced.render(variables, into: &body)
            if let ending {
                body.append(contentsOf: ending.slot.text(nowMs: nowMs).utf8)
                body.append(contentsOf: ending.rest)
            }
        case .form(let spliced):
            PlainTextTemplate.appendHead(token: name, tailCount: count, to: &body)
            try spliced.render(variables, into: &body)
        case .stanza(let spliced):
            XMPPTemplate.appendHead(
                kind: recipient.kind,
                recipient: name,
                messageID: messageID,
                tailCount: count,
                to: &body
            )
            try spliced.render(variables, into: &body)
        }
    }
}

extension TranslationError {
    /// The error of a variant's message, whose path begins with the variant instead of `message`.
    fileprivate init(_ error: TranslationError, variant: String) {
        self.init(path: "variants.\(variant)" + error.path.dropFirst("message".count), rule: error.rule)
    }
}
