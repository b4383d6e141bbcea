internal import FanfareModel

/// The public RSA key of a service account: a SubjectPublicKeyInfo in PEM (RFC 5280, RFC 7468), checked as far as that
/// needs no library. It is no secret.
public struct PublicKeyText: Hashable, Sendable {
    /// With its BEGIN and END lines, 64 characters a line.
    public let pem: String

    private static let begin = "-----BEGIN PUBLIC KEY-----"
    private static let end = "-----END PUBLIC KEY-----"
    /// The algorithm rsaEncryption with its NULL.
    private static let algorithm: [UInt8] = [
        0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
    ]
    /// Of keys of 2,048 to 8,192 bits.
    private static let byteCounts = 290...1_070

    /// - Returns: nil for anything but such a key of 2,048 to 8,192 bits.
    public init?(pem text: String) {
        let lines = text.split(whereSeparator: \.isNewline)
        guard lines.count > 2, lines[0] == Self.begin, lines[lines.count - 1] == Self.end else { return nil }
        let base64 = lines.dropFirst().dropLast().joined()
        guard let bytes = Base64.decode(Array(base64.utf8)), Self.byteCounts.contains(bytes.count),
            bytes[0] == 0x30, bytes.dropFirst(4).starts(with: Self.algorithm)
        else { return nil }
        var rest = Substring(base64)
        var written = [Self.begin]
        while !rest.isEmpty {
            written.append(String(rest.prefix(64)))
            rest = rest.dropFirst(64)
        }
        pem = (written + [Self.end, ""]).joined(separator: "\n")
    }
}
