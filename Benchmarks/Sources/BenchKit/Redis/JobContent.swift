/// What a producer writes into the stream.
struct JobContent {
    enum Target {
        /// A JSON array.
        case tokens(String)
        /// A Redis key of type LIST.
        case audience(String)
        case topic(String, audience: Int)
        /// A JSON array of objects.
        case recipients(String)
        /// A Redis key of type LIST, whose elements are such objects.
        case personalAudience(String)
    }

    let target: Target
    var message = Payload.message
    /// `v1` unless said.
    var format: String?
    /// Every result is asked for, so that the whole way from entry to recorded result is taken.
    var results = "all"
    /// Further fields, such as the fields of guards, with their values.
    var more: [String] = []
    /// Unix milliseconds; nil sends at once.
    var notBefore: Int?

    static func tokens(_ array: String) -> JobContent { JobContent(target: .tokens(array)) }

    var fields: [String] {
        var fields = ["message", message, "results", results]
        if let format { fields += ["format", format] }
        if let notBefore { fields += ["not_before", "\(notBefore)"] }
        switch target {
        case .tokens(let array): fields += ["tokens", array]
        case .audience(let key): fields += ["audience", key]
        case .recipients(let array): fields += ["recipients", array]
        case .personalAudience(let key): fields += ["audience", key, "audience_format", "json"]
        case .topic(let name, let audience): fields += ["topic", name, "audience_size", "\(audience)"]
        }
        return fields + more
    }
}
