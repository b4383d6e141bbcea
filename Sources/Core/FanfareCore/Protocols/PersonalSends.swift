internal import FCMWire
internal import FanfareModel
internal import FanfareTemplate
internal import StreamWire

/// The messages of a personal job, and the rules that its recipients have to keep before they are sent to.
///
/// A recipient is known by its element, a JSON object that was read before or, in an audience, never. A class, so that a
/// send passes on a reference and not the tables.
final class PersonalSends: Sendable {
    /// Bytes of an element, at most: far above the largest one that breaks no rule.
    static let maximumElementBytes = 262_144

    private let template: PersonalTemplate
    private let rules: PersonalRecipientRules
    private let takesFIDs: Bool

    /// - Throws: when a message has no counterpart on the transport, or is not what intake accepted.
    init(_ spec: JobSpec, job id: String, _ settings: ProtocolSettings) throws(TranslationError) {
        let options = MessageOptions(
            format: spec.format,
            validateOnly: spec.validateOnly,
            delivery: spec.delivery,
            jobID: id
        )
        let messages: PersonalMessages
        do throws(EntryFault) {
            let merged = try PersonalMessageChecker.merge(message: spec.message, variants: spec.variants)
            messages = PersonalMessages(merged, format: spec.format)
        } catch { throw TranslationError(path: error.path, rule: error.rule) }
        template = try PersonalTemplate(
            messages.messages,
            options,
            transport: settings.transport,
            legacyBody: settings.legacyBody,
            name: { Excerpt.plain($0) }
        )
        rules = PersonalRecipientRules(template, messages.sizes)
        takesFIDs = settings.traits.kinds.contains(.fid)
    }

    /// Why a recipient cannot be sent to; nil if it can.
    func failure(of element: PersonalElement) -> Failure? {
        switch element.content.map(fault(of:)) ?? fault(of: element.text) {
        case nil: nil
        case .notAToken: RequestRecipients.notAToken
        case .broken(let fault): Failure(fault)
        }
    }

    /// Why an element is refused.
    enum RecipientFault {
        /// Its token or installation id breaks the rules for tokens.
        case notAToken(RecipientElement)
        case broken(TemplateFault)
    }

    /// The rule behind ``failure(of:)``; nil for a recipient that can be sent to.
    func fault(of element: SharedText) -> RecipientFault? {
        do throws(TemplateFault) { return fault(of: try Self.read(element)) } catch { return .broken(error) }
    }

    private func fault(of recipient: RecipientElement) -> RecipientFault? {
        guard recipient.kind == .token || takesFIDs else {
            return .broken(TemplateFault("fid", "only with the v1 transport"))
        }
        guard RecipientRules.isToken(recipient.recipient) else { return .notAToken(recipient) }
        return rules.fault(of: recipient).map { .broken($0) }
    }

    /// The time to live of a recipient's message; nil without one.
    func lifetime(of element: PersonalElement?) -> MessageLifetime? {
        template.lifetime(for: element?.content?.variant)
    }

    /// Appends the request for a recipient that ``failure(of:)`` lets pass.
    func render(_ element: RecipientElement, messageID: String, nowMs: Int64, into body: inout [UInt8]) {
        do throws(TemplateFault) {
            try template.render(element, messageID: messageID, nowMs: nowMs, into: &body)
        } catch { preconditionFailure("failure() was asked first") }
    }

    static func read(_ element: SharedText) throws(TemplateFault) -> RecipientElement {
        guard element.count <= maximumElementBytes else {
            throw TemplateFault("", "\(element.count) bytes, at most \(maximumElementBytes)")
        }
        return try RecipientElement(element.bytes.indices, of: element.storage)
    }
}
