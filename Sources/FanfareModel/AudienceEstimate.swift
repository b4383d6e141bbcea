/// How large the audience of a topic or a condition is taken to be, which decides for how long its send keeps the
/// project's slot.
public enum AudienceEstimate: Equatable, Sendable {
    /// Where a size comes from.
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
    /// - Parameter formula: words with blanks between, operators behind their operands: `#` and a number is a size that is
    ///   known, `+` adds two, `<` takes the smaller of two, and any other word is a topic.
    case counted(formula: String)
}
