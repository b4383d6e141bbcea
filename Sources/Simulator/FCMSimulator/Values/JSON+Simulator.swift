import FanfareJSON

extension JSONValue {
    static func integer(_ value: some BinaryInteger) -> JSONValue { .number(JSONNumber(Int64(value))) }

    static func strings(_ values: some Sequence<String>) -> JSONValue { .array(values.map { .string($0) }) }

    /// nil for an empty string too.
    var nonEmptyString: String? { string.flatMap { $0.isEmpty ? nil : $0 } }
}

extension JSONObject {
    /// Reads a body that has to be an object.
    ///
    /// - Parameter makeError: makes the error; its argument is nil for well-formed JSON that is no object.
    init<Thrown: Error>(
        _ body: [UInt8],
        limits: JSONLimits,
        orElse makeError: (JSONError?) -> Thrown
    ) throws(Thrown) {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONParser.parse(body, limits: limits)
        } catch {
            throw makeError(error)
        }
        guard case .object(let object) = value else { throw makeError(nil) }
        self = object
    }

    /// Sets the members of another object.
    mutating func merge(_ other: JSONObject?) {
        for member in other?.members ?? [] { self[member.key] = member.value }
    }
}

extension SimulatorReply {
    init(status: Int = 200, object: JSONObject) {
        self.init(status: status, json: JSONValue.object(object).jsonBytes)
    }
}
