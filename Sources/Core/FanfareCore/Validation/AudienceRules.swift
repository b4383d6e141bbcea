/// Checks the Redis key of an audience: it has to be in the project's slot, and not one of Fanfare's keys.
struct AudienceRules: Equatable, Sendable {
    static let keyLength = 1_024

    /// `{p}`.
    let projectKeyTag: String
    let prefix: String

    func key(_ bytes: [UInt8]) throws(EntryFault) -> String {
        guard !bytes.isEmpty else { throw fault("empty") }
        guard bytes.count <= Self.keyLength else { throw fault("\(bytes.count) bytes, at most \(Self.keyLength)") }
        guard let key = String(validating: bytes, as: UTF8.self) else { throw fault("not UTF-8") }
        if let control = TextRules.controlCharacter(in: bytes) {
            throw fault("control character at byte \(control)")
        }
        guard hashTag(bytes).map({ projectKeyTag.utf8.elementsEqual($0) }) ?? false else {
            throw fault("its hash tag must be \(projectKeyTag)")
        }
        guard !bytes.starts(with: Array("\(prefix):".utf8)) else { throw fault("must not start with \(prefix):") }
        return key
    }

    /// The part that Redis Cluster hashes, with its braces: from the first `{` to the first `}` behind it, unless
    /// there is nothing between them.
    private func hashTag(_ bytes: [UInt8]) -> ArraySlice<UInt8>? {
        guard let open = bytes.firstIndex(of: UInt8(ascii: "{")),
            let close = bytes[open...].firstIndex(of: UInt8(ascii: "}")), close > open + 1
        else { return nil }
        return bytes[open...close]
    }

    private func fault(_ rule: String) -> EntryFault {
        EntryFault(EntryField.audience.rawValue, rule)
    }
}
