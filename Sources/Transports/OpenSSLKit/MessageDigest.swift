internal import COpenSSL

/// Hashes of FIPS 180-4.
public enum MessageDigest {
    /// SHA-256.
    /// - Returns: 32 bytes.
    public static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        let isMade = EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil) == 1
        precondition(isMade, "OpenSSL without SHA-256")
        return digest
    }

    /// SHA-1, by which Redis names scripts. It protects nothing.
    /// - Returns: 20 bytes.
    public static func sha1(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 20)
        let isMade = EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha1(), nil) == 1
        precondition(isMade, "OpenSSL without SHA-1")
        return digest
    }
}
