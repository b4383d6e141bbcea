public import FanfareJSON
internal import FanfareModel

/// The sizes of a personal message as FCM counts them, computed for each recipient without rendering.
///
/// A size is a constant, plus for each name the length of its value times its occurrences. The function is found by
/// measuring the message itself: with every placeholder empty, and with the placeholders of one name filled.
///
/// That is exact for a measure with these properties, which the rules for message sizes have:
///
/// - A total is a sum over members and strings. Which of them it counts depends on names of members and kinds of values
///   only, never on the text of a string: a platform's field replaces the common one by its presence. Filling a
///   placeholder changes neither.
/// - A string counts with its UTF-8 bytes. In legacy `data`, a member that is not a string counts with its JSON text, and a
///   string within it with its escaped bytes. Both lengths of a joined text are the sums of its parts' lengths.
///
/// So a total grows by `plain · count + escaped · escapedCount` of a value. A fill of `a` has the lengths 1 and 1, a fill
/// of `"` the lengths 1 and 2: the two measures give both factors. The largest total is found at the end, because a maximum
/// of sums is no sum.
public struct TemplateSize: Equatable, Sendable {
    /// One name in one total.
    private struct Weight: Equatable {
        /// Occurrences that count the value's bytes without escapes.
        var plain: Int
        /// Occurrences that count the value's bytes with JSON escapes.
        var escaped: Int
        /// What all fallbacks of the name add for a recipient without it.
        var fallback: Int
    }

    private let names: [PlaceholderName]
    /// The totals of the message with every placeholder empty.
    private let constants: [Int]
    /// The weights of the first total by name, then the weights of the second, and so on.
    private let weights: [Weight]

    /// - Parameters:
    ///   - message: checked by ``PlaceholderPaths``; a malformed text counts as it stands.
    ///   - measure: returns the totals of a message, always as many and in the same order. It is called once, and three
    ///     times for each name.
    public init(_ message: JSONObject, measure: (JSONObject) -> [Int]) {
        let names = Self.names(in: message)
        func totals(_ fill: (PlaceholderName, String?) -> String) -> [Int] {
            let filled = message.mapPlaceholderTexts { text in (try? PlaceholderText(text))?.filled(fill) ?? text }
            return measure(filled)
        }
        let constants = totals { _, _ in "" }
        let rows = names.map { name in
            let plain = totals { other, _ in other == name ? "a" : "" }
            let quote = totals { other, _ in other == name ? "\"" : "" }
            let fallback = totals { $0 == name ? $1 ?? "" : "" }
            return constants.indices.map { total in
                let escaped = quote[total] - plain[total]
                return Weight(
                    plain: plain[total] - constants[total] - escaped,
                    escaped: escaped,
                    fallback: fallback[total] - constants[total]
                )
            }
        }
        (self.names, self.constants) = (names, constants)
        weights = constants.indices.flatMap { total in rows.map { $0[total] } }
    }

    /// The number of totals.
    public var count: Int { constants.count }

    /// The largest total in bytes; 0 without a total.
    ///
    /// - Parameter variables: of a recipient who has each name that needs one. A name without a value counts with its
    ///   fallback, and as nothing where it has none.
    public func largest(of variables: [TemplateVariable]) -> Int {
        constants.indices.reduce(0) { max($0, size($1, of: variables)) }
    }

    /// One of the totals in bytes.
    ///
    /// - Parameter total: its index in the result of the measure.
    public func size(_ total: Int, of variables: [TemplateVariable]) -> Int {
        var size = constants[total]
        for index in names.indices {
            let weight = weights[total * names.count + index]
            if let value = variables.value(of: names[index]) {
                size += weight.plain * value.count + weight.escaped * value.escaped.count
            } else {
                size += weight.fallback
            }
        }
        return size
    }

    /// The message with every placeholder empty, which the size of no recipient is below.
    public static func constantPart(of message: JSONObject) -> JSONObject {
        message.mapPlaceholderTexts { text in (try? PlaceholderText(text))?.filled { _, _ in "" } ?? text }
    }

    private static func names(in message: JSONObject) -> [PlaceholderName] {
        var (names, known) = ([PlaceholderName](), Set<PlaceholderName>())
        _ = message.mapPlaceholderTexts { text in
            for name in (try? PlaceholderText(text))?.names ?? [] where known.insert(name).inserted {
                names.append(name)
            }
            return text
        }
        return names
    }
}
