import FanfareJSON

/// Why a request on the control port is refused: a status and a reason that begins with the field's name.
struct ControlError: Error, Equatable, Sendable {
    var reason: String
    var status: Int

    init(_ reason: String, status: Int = 400) {
        self.reason = reason
        self.status = status
    }

    var reply: SimulatorReply { SimulatorReply(status: status, object: ["error": .string(reason)]) }
}

/// The fields of a request on the control port. A getter returns nil without the field.
extension JSONObject {
    /// Refuses a name that is not known, because a test that misspells one proves nothing.
    func refuseNames(except known: Set<ExactText>, path: String = "") throws(ControlError) {
        if let unknown = members.first(where: { !known.contains($0.key) }) {
            throw ControlError("\(path)\(unknown.key): unknown")
        }
    }

    func integer(_ name: String, _ range: ClosedRange<Int64>, orElse rule: String) throws(ControlError) -> Int64? {
        guard let value = self[name] else { return nil }
        guard let number = value.number?.int64, range.contains(number) else { throw ControlError(rule) }
        return number
    }

    func bool(_ name: String) throws(ControlError) -> Bool? {
        guard let value = self[name] else { return nil }
        guard let flag = value.bool else { throw ControlError("\(name): true or false") }
        return flag
    }

    func word<Word: RawRepresentable<String>>(_ name: String, orElse rule: String) throws(ControlError) -> Word? {
        guard let value = self[name] else { return nil }
        guard let word = value.string.flatMap(Word.init(rawValue:)) else { throw ControlError(rule) }
        return word
    }

    func strings(
        _ name: String,
        most: Int,
        orElse rule: String,
        _ fits: (String) -> Bool
    ) throws(ControlError) -> [String]? {
        guard let value = self[name] else { return nil }
        let texts = value.array?.compactMap(\.string) ?? []
        guard texts.count == value.array?.count, texts.count <= most, texts.allSatisfy(fits) else {
            throw ControlError(rule)
        }
        return texts
    }
}
