internal import Glibc

/// A folder of certificate authorities.
public enum CertificateFolder {
    /// Whether the folder holds names such as `5ed36f99.0`, by which OpenSSL finds a certificate when it needs it. A
    /// bundle file is parsed whole for every context, which takes milliseconds.
    public static func isHashed(_ path: String) -> Bool {
        guard let directory = opendir(path) else { return false }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            guard name.count >= 10, name[8] == UInt8(ascii: "."), name[9] == UInt8(ascii: "0") else { continue }
            let isHex = { (byte: UInt8) in "0123456789abcdef".utf8.contains(byte) }
            if name[..<8].allSatisfy(isHex) { return true }
        }
        return false
    }
}
