/// How far a search for a token came, as a text that the next call is given.
struct TokenCursor: Equatable {
    /// An entry's id stands for all entries before it, which are still to be searched; nil for all entries.
    enum Results: Equatable {
        /// Blocks of the index are skipped where they do not hold the token. `missing`: entries of `results` that neither
        /// a block nor the search has counted yet; nil before the search.
        case indexed(before: String?, missing: Int64?)
        /// The index lacks some entries, so every entry is read.
        case direct(before: String?)
        case over
    }

    enum Feedback: Equatable {
        case open(before: String?)
        case over
    }

    var results = Results.indexed(before: nil, missing: nil)
    var feedback = Feedback.open(before: nil)

    init() {}

    var isOver: Bool { results == .over && feedback == .over }

    var text: String {
        let results =
            switch results {
            case .indexed(let before, let missing): "i\(before ?? "")_\(missing.map(String.init) ?? "")"
            case .direct(let before): "d\(before ?? "")_"
            case .over: "_"
            }
        let feedback =
            switch feedback {
            case .open(let before): "f\(before ?? "")"
            case .over: ""
            }
        return "\(results)_\(feedback)"
    }

    /// nil for a text that is no cursor of this version.
    init?(_ text: String) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 3, parts.allSatisfy({ $0.utf8.count <= 48 }) else { return nil }
        let ids = [parts[0], parts[2]].map { $0.isEmpty ? nil : String($0.dropFirst()) }.map { $0 == "" ? nil : $0 }
        guard ids.allSatisfy({ $0.map(Identifiers.isEntry) ?? true }) else { return nil }
        let missing = Int64(parts[1])
        guard parts[1].isEmpty || missing.map({ $0.magnitude < 1 << 50 }) == true else { return nil }
        switch parts[0].first {
        case "i": results = .indexed(before: ids[0], missing: missing)
        case "d": results = .direct(before: ids[0])
        case nil: results = .over
        default: return nil
        }
        switch parts[2].first {
        case "f": feedback = .open(before: ids[1])
        case nil: feedback = .over
        default: return nil
        }
    }
}
