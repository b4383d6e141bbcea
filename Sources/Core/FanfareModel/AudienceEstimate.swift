/// The estimated size of the audience of a topic or a condition. It decides how long the send keeps the project's slot.
public enum AudienceEstimate: Equatable, Sendable {
    /// The source of a size.
    public enum Source: String, Equatable, Sendable, CaseIterable {
        /// The producer's `audience_size`.
        case job
        /// The configuration's `topics`.
        case config
        /// Fanfare's own count of the subscriptions that it made: a lower bound.
        case counted
        /// No size is known: the slot is free when the send is answered.
        case none
    }

    case known(Int64, Source)
    /// The size depends on topics whose subscriptions Redis has to count.
    ///
    /// - Parameter formula: words separated by blanks, in postfix order: `#` and a number is a known size, `+` adds two
    ///   sizes, `<` takes the smaller of two, and any other word is a topic.
    case counted(formula: String)
}
