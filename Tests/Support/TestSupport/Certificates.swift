/// A private certificate authority and the certificates that it signed. The `openssl` program creates them in a
/// temporary folder, which is removed with the last copy of this value.
public struct Certificates: Sendable {
    public struct Identity: Sendable {
        public let certFile: String
        public let keyFile: String
    }

    public let folder: TemporaryFolder
    public let caFile: String
    private let caKeyFile: String

    public init() throws {
        folder = try TemporaryFolder()
        caFile = folder.file("ca.pem")
        caKeyFile = folder.file("ca.key")
        try Self.openssl([
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=Test authority", "-keyout", caKeyFile, "-out", caFile,
        ])
    }

    /// - Parameters:
    ///   - names: subject alternative names such as `DNS:localhost` and `IP:127.0.0.1`; none for a client.
    ///   - isClientToo: true for a server that also connects to other servers.
    public func issue(_ name: String, names: [String], isClientToo: Bool = false) throws -> Identity {
        let (key, request, cert) = (folder.file("\(name).key"), folder.file("\(name).csr"), folder.file("\(name).pem"))
        try Self.openssl([
            "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-subj", "/CN=\(name)", "-keyout", key, "-out", request,
        ])
        let usage = names.isEmpty ? "clientAuth" : isClientToo ? "serverAuth,clientAuth" : "serverAuth"
        let alternative = names.isEmpty ? "" : "subjectAltName=\(names.joined(separator: ","))\n"
        let extensions = try folder.write("\(name).ext", "\(alternative)extendedKeyUsage=\(usage)\n")
        try Self.openssl([
            "x509", "-req", "-in", request, "-CA", caFile, "-CAkey", caKeyFile, "-CAcreateserial", "-days", "2",
            "-extfile", extensions, "-out", cert,
        ])
        return Identity(certFile: cert, keyFile: key)
    }

    /// The text of a service account file with a new private key.
    public static func serviceAccount() throws -> String {
        let key = String(decoding: try openssl(["genrsa", "2048"]), as: UTF8.self)
        return #"{"type":"service_account","client_email":"a@b","private_key":""#
            + key.split(separator: "\n").map { $0 + #"\n"# }.joined()
            + #"","token_uri":"https://localhost/t"}"#
    }

    @discardableResult
    public static func openssl(_ arguments: [String], input: [UInt8] = []) throws -> [UInt8] {
        try runProgram("/usr/bin/openssl", arguments, input: input)
    }
}
