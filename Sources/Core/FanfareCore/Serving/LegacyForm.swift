internal import FanfareJSON
internal import FanfareModel

/// Reads the plain text of the legacy protocol, `application/x-www-form-urlencoded`, such as
/// `registration_id=T&collapse_key=score&data.score=4x8`, into the object that its JSON would be.
enum LegacyForm {
    /// A message of 4,096 bytes has fewer fields: each has at least one byte of name.
    private static let maximumFields = 5_000

    /// - Returns: an object whose values are strings; a `data.k` is the member `k` of its `data`.
    static func object(_ body: [UInt8]) throws(LegacyFault.Reason) -> JSONObject {
        let separators = body.reduce(0) { $1 == UInt8(ascii: "&") ? $0 + 1 : $0 }
        guard separators < maximumFields else { throw .code(.messageTooBig) }
        var (object, data) = (JSONObject(), JSONObject())
        for field in body.split(separator: UInt8(ascii: "&")) {
            let halves = field.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = text(halves[0]), let value = text(halves.count > 1 ? halves[1] : []) else {
                throw .code(.invalidParameters)
            }
            if name.utf8.starts(with: "data.".utf8) {
                data.members.append(.init(key: String(name.dropFirst("data.".count)), value: .string(value)))
            } else {
                object.members.append(.init(key: name, value: .string(value)))
            }
        }
        if !data.isEmpty { object["data"] = .object(data) }
        return object
    }

    /// nil for a broken escape, and for bytes that are not UTF-8.
    private static func text(_ bytes: ArraySlice<UInt8>) -> String? {
        PercentDecoding.bytes(of: bytes, plusIsSpace: true).flatMap { String(validating: $0, as: UTF8.self) }
    }
}
