/// How much time a run may take. Each scenario says what that means for it.
enum Form: String, Codable {
    /// All scenarios in about a quarter of an hour: whether everything works, and roughly where it stands.
    case short
    /// The figures to compare.
    case full
    /// With the largest audiences and the most rounds; hours.
    case long

    func pick<Value>(_ short: Value, _ full: Value, _ long: Value) -> Value {
        switch self {
        case .short: short
        case .full: full
        case .long: long
        }
    }
}
