internal import FCMWire
internal import FanfareJSON
public import FanfareModel
internal import FanfareTemplate
internal import StreamWire

/// The messages of a personal job before it is pushed, for tools: what each recipient would get, and which recipients
/// would fail without a send.
public struct PersonalPreview: Sendable {
    /// Bytes of an element, at most. A longer one is refused unread.
    public static let maximumElementBytes = PersonalSends.maximumElementBytes

    private let sends: PersonalSends

    /// - Parameters:
    ///   - job: a personal job that ``EntryCheck`` accepted.
    ///   - settings: of the project.
    /// - Throws: when a message has no counterpart on the transport.
    public init(_ job: Job, _ settings: ProtocolSettings) throws(EntryFault) {
        do throws(TranslationError) {
            sends = try PersonalSends(JobSpec(job: job, total: 0), job: job.id, settings)
        } catch { throw EntryFault(error.path, error.rule) }
    }

    /// The result of a recipient that is not sent to; nil for a recipient that is.
    ///
    /// - Parameter element: one JSON object, such as an element of `recipients` or of an audience.
    public func failure(of element: SharedText) -> Failure? { sends.failure(of: PersonalElement(element)) }

    /// The rule that a recipient breaks; nil for a recipient that is sent to.
    ///
    /// The path stands within the element, such as `vars.name`; it is empty for the whole element. Where the element is not
    /// JSON, the fault has the byte of the element.
    public func fault(of element: SharedText) -> EntryFault? {
        switch sends.fault(of: element) {
        case nil: return nil
        case .notAToken(let recipient):
            let rule = RecipientRules.tokenFault(recipient.recipient.bytes) ?? "not a registration token"
            return EntryFault(recipient.kind.rawValue, rule)
        case .broken(let fault):
            return EntryFault(Excerpt.plain(fault.path), fault.rule, offset: Self.offset(in: element, fault))
        }
    }

    /// The body of a recipient's request: JSON, or a form where the project's legacy transport sends plain text. Nil for a
    /// recipient that ``failure(of:)`` refuses.
    ///
    /// - Parameter nowMs: Unix milliseconds of the attempt, from which a time to live counts.
    public func message(of element: SharedText, nowMs: Int64) -> [UInt8]? {
        let element = PersonalElement(element)
        guard sends.failure(of: element) == nil, let content = element.content else { return nil }
        var body: [UInt8] = []
        sends.render(content, messageID: "preview", nowMs: nowMs, into: &body)
        return body
    }

    /// The byte at which a malformed element breaks.
    private static func offset(in element: SharedText, _ fault: TemplateFault) -> Int? {
        guard fault.path.isEmpty, element.count <= PersonalSends.maximumElementBytes else { return nil }
        let limits = JSONLimits(
            maximumDepth: RecipientElement.maximumDepth,
            maximumBytes: PersonalSends.maximumElementBytes
        )
        do throws(JSONError) { _ = try JSONParser.parse(Array(element.bytes), limits: limits) } catch {
            return error.offset
        }
        return nil
    }
}

extension EntryCheck {
    /// The messages of a job that this check accepted.
    ///
    /// - Returns: nil for a job that is not personal.
    public func preview(of job: Job) throws(EntryFault) -> PersonalPreview? {
        job.isPersonal ? try PersonalPreview(job, settings) : nil
    }
}
