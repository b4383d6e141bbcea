internal import FanfareModel
internal import FanfareTemplate
public import StreamWire

/// A recipient of a batch that this worker holds.
public struct HeldRecipient: Sendable {
    /// What the text that Redis keeps of a recipient is.
    enum Text: Sendable {
        /// A token, an installation id, a topic, a condition, or a group's name or key.
        case name(SharedText)
        /// An element of a personal job.
        case element(PersonalElement)
        /// A group that FCM did not wholly reach: its members are sent to one by one.
        indirect case members(GroupProgress)
    }

    /// Its index in the order the producer gave.
    public let index: Int
    var text: Text
    public internal(set) var history: RecipientHistory
    var progress: ClaimedRecipient.Progress

    /// A recipient whose text is not read yet: it counts as a name.
    init(_ claimed: ClaimedRecipient) {
        (index, text) = (claimed.index, .name(claimed.text))
        (history, progress) = (claimed.history, claimed.progress)
    }

    /// Reads the text by the job's kind.
    mutating func read(_ job: SendJob) {
        guard case .name(let name) = text else { return }
        if job.spec.isPersonal {
            text = .element(PersonalElement(name))
        } else if job.spec.kind == .group, !job.isManagement, let progress = GroupProgress(name.string) {
            text = .members(progress)
        }
    }

    /// The name in its result. A malformed element has none.
    var name: SharedText {
        switch text {
        case .name(let name): name
        case .element(let element): element.name
        case .members(let progress): SharedText(progress.key)
        }
    }

    /// The text that Redis keeps of the recipient. Equal texts are equal recipients.
    var stored: SharedText {
        switch text {
        case .name(let name): name
        case .element(let element): element.text
        case .members(let progress): SharedText(progress.text)
        }
    }

    /// The element of a personal job's recipient; nil for every other job.
    var element: PersonalElement? {
        if case .element(let element) = text { element } else { nil }
    }

    /// Its own kind, for a personal job; nil where the job's kind counts.
    var kind: RecipientKind? { element?.kind }
}

extension HeldRecipient: Equatable {
    public static func == (left: HeldRecipient, right: HeldRecipient) -> Bool {
        left.index == right.index && left.stored == right.stored && left.history == right.history
            && left.progress == right.progress
    }
}

/// An element of a personal job, which is read once.
final class PersonalElement: Sendable {
    let text: SharedText
    /// Nil for a malformed element.
    let content: RecipientElement?

    init(_ text: SharedText) { (self.text, content) = (text, try? PersonalSends.read(text)) }

    var name: SharedText { content?.recipient ?? text.prefix(0) }
    var kind: RecipientKind { content?.kind ?? .token }
}
