internal import CCurl
internal import Glibc
internal import OpenSSLKit

/// The authorities a connection trusts: the system's, and a private one.
///
/// A hashed directory is looked up by name when a certificate is checked; a bundle file is parsed whole for every
/// connection, which takes milliseconds of the loop's time. So the system's directory is used where it is hashed, with
/// the private file beside it, and one joined bundle only where it is not.
struct TrustStore: Equatable {
    enum Source: Equatable {
        case directory(String, privateFile: String?)
        case bundle([UInt8])
        /// libcurl's own default, where no system file or directory was found.
        case builtIn
    }

    static let directories = ["/etc/ssl/certs", "/etc/pki/tls/certs"]
    static let bundles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem",
    ]

    let source: Source

    init(privateFile: String?, directories: [String] = Self.directories, bundles: [String] = Self.bundles) {
        if let directory = directories.first(where: CertificateFolder.isHashed) {
            source = .directory(directory, privateFile: privateFile)
        } else if let file = bundles.first(where: { access($0, R_OK) == 0 }) {
            var bytes = Self.read(file)
            if let privateFile { bytes += [UInt8(ascii: "\n")] + Self.read(privateFile) }
            source = .bundle(bytes)
        } else if let privateFile {
            source = .bundle(Self.read(privateFile))
        } else {
            source = .builtIn
        }
    }

    func apply(to easy: UnsafeMutableRawPointer) {
        switch source {
        case .directory(let directory, let privateFile):
            Curl.set(easy, CURLOPT_CAPATH, directory)
            Curl.set(easy, CURLOPT_CAINFO, privateFile)
        case .bundle(let bytes):
            Curl.set(easy, CURLOPT_CAPATH, nil)
            let code = bytes.withUnsafeBytes { ccurl_set_ca_blob(easy, $0.baseAddress, $0.count) }
            precondition(code == CURLE_OK, "libcurl refused the authorities")
        case .builtIn:
            break
        }
    }

    /// Empty when the file cannot be read: every check then fails, which is the safe way to be wrong.
    private static func read(_ path: String) -> [UInt8] {
        let fd = open(path, O_RDONLY | O_CLOEXEC)
        guard fd >= 0 else { return [] }
        defer { _ = Glibc.close(fd) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(fd, &buffer, buffer.count)
            guard count > 0 else { return bytes }
            bytes += buffer[..<count]
        }
    }
}
