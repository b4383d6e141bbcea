internal import ArgumentParser

/// The values of an option that has a fixed set of them.
struct Words {
    let list: [String]

    static let deadKinds = Words(list: ["rejected", "parked"])
    static let logLevels = Words(list: ["trace", "debug", "info", "notice", "warning", "error", "critical"])

    var completion: CompletionKind { .list(list) }

    func value<Value: RawRepresentable<String>>(_ text: String) throws -> Value {
        guard list.contains(text), let value = Value(rawValue: text) else {
            throw ValidationError("must be \(list.dropLast().joined(separator: ", ")) or \(list[list.count - 1])")
        }
        return value
    }
}
