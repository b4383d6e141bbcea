internal import COpenSSL

/// SHA-256 of FIPS 180-4.
public enum MessageDigest {
    /// - Returns: 32 bytes.
    public static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        let isMade = EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil) == 1
        precondition(isMade, "OpenSSL without SHA-256")
        return digest
    }
}
