public import FCMWire
public import FanfareModel
public import FanfareTemplate

/// Finds the recipients of a personal job that fail without a send, before they cost quota.
public struct PersonalRecipientRules: Sendable {
    private let template: PersonalTemplate
    private let sizes: VariantTable<TemplateSize>

    /// - Parameter sizes: of the messages that the template was made from; see ``PersonalMessages``.
    public init(_ template: PersonalTemplate, _ sizes: VariantTable<TemplateSize>) {
        self.template = template
        self.sizes = sizes
    }

    /// The fault of a recipient with malformed or missing values, or with a message above FCM's limit. Nil for a recipient
    /// that can be sent to.
    func fault(of recipient: RecipientElement) -> TemplateFault? {
        do throws(TemplateFault) { try template.check(recipient) } catch { return error }
        let size = sizes.value(for: recipient.variant).largest(of: recipient.variables)
        guard size > MessageChecker.limit else { return nil }
        return TemplateFault("message", "\(size) bytes, at most \(MessageChecker.limit)")
    }
}

extension Failure {
    /// The failure of a recipient whose element or message breaks a rule, such as `vars.name: missing`.
    public init(_ fault: TemplateFault) {
        self.init(error: .invalidArgument, action: .fixMessage, rawError: RawError.clean(fault.reason))
    }
}
