internal import ArgumentParser
internal import FanfareCore
internal import FanfareModel
internal import Glibc
internal import OpenSSLKit

struct GatewayCACommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ca",
        abstract: "Makes a certificate for Google's host names, and the authority that clients trust for it.",
        discussion: """
            For SDKs that have no setting for the endpoint: name resolution leads FCM's host names to the gateway, and the \
            client trusts ca.pem. The certificate names fcm.googleapis.com, iid.googleapis.com, gcm-http.googleapis.com and \
            android.googleapis.com, and the hosts given with --name.

            The authority can vouch for these names only, and its key is thrown away after its one signature, so \
            ca.pem cannot be used against its clients. Make both again before they expire. No file is replaced.

            Examples:
              fanfare gateway ca --out gateway-tls
              fanfare gateway ca --out gateway-tls --name push.example.com --name 10.0.0.5
            """
    )

    /// Every host that Google's and the legacy SDKs send to.
    private static let names = [
        "fcm.googleapis.com", "iid.googleapis.com", "gcm-http.googleapis.com", "android.googleapis.com",
    ]

    @Option(help: .value("folder", "Where to write ca.pem, gateway.pem and gateway.key."), completion: .directory)
    var out: String

    @Option(help: .value("host", "A further name or address of the gateway; may be repeated."))
    var name: [String] = []

    @Option(help: .value("n", "How many days both are valid."))
    var days: Int = 825

    @Flag(help: "Write the authority's key to ca.key, to sign more certificates with openssl. Keep it off line.")
    var keepCaKey = false

    func validate() throws {
        if Fanfare.skipsValidation { return }
        guard (1...3_650).contains(days) else { throw ValidationError("--days: 1 to 3650") }
        guard name.count <= 100 else { throw ValidationError("--name: at most 100") }
        for host in name where !Self.isAddress(host) && !Self.isName(host) {
            throw ValidationError("--name \(PrintableText.line(host, limit: 60)): not a host name or an address")
        }
    }

    func run() throws {
        let hosts = CertificateAuthority.Hosts(
            names: Self.names + name.filter { !Self.isAddress($0) && !Self.names.contains($0) },
            addresses: name.filter(Self.isAddress)
        )
        // A client that trusts several gateways must not confuse their authorities.
        let serial = String(UInt32.random(in: .min ... .max), radix: 16)
        let authority = try CertificateAuthority(
            commonName: "Fanfare gateway authority \(serial)",
            organization: "Fanfare",
            days: Int32(days),
            hosts: hosts
        )
        let server = try authority.issue(
            commonName: "Fanfare gateway",
            names: hosts.names,
            addresses: hosts.addresses,
            days: Int32(days)
        )
        guard mkdir(out, 0o755) == 0 || errno == EEXIST else {
            throw Outcome.failed.because("\(out): cannot be made (\(String(cString: strerror(errno))))")
        }
        var files: [(name: String, text: String, mode: mode_t)] = [
            ("ca.pem", try authority.certificatePEM(), 0o644), ("gateway.pem", server.certificatePEM, 0o644),
            ("gateway.key", server.keyPEM, 0o600),
        ]
        if keepCaKey { files.append(("ca.key", try authority.keyPEM(), 0o600)) }
        try write(files)
        Console.line(steps)
    }

    /// All files or none.
    private func write(_ files: [(name: String, text: String, mode: mode_t)]) throws {
        for (index, file) in files.enumerated() {
            let path = "\(out)/\(file.name)"
            do throws(NewFile.Failure) { try NewFile.write(file.text, to: path, mode: file.mode) } catch {
                for written in files[..<index] { unlink("\(out)/\(written.name)") }
                throw error.outcome(path, existing: "choose another folder with --out")
            }
        }
    }

    private var steps: String {
        let key = keepCaKey ? "ca.key signs more of them: keep it off line." : "The authority's key was not kept."
        return """
            \(out) holds ca.pem for clients, and gateway.pem with gateway.key for the gateway; they expire in \(days) days. \(key)
            Next:
              1. gateway.cert_file: \(out)/gateway.pem, gateway.key_file: \(out)/gateway.key, gateway.listen: 0.0.0.0:443
              2. on each client's machine, lead the names to the gateway, in /etc/hosts or its DNS:
                   GATEWAY-ADDRESS \(Self.names.joined(separator: " "))
              3. make its programs trust ca.pem:
                   REQUESTS_CA_BUNDLE=ca.pem (Python, requests)   SSL_CERT_FILE=ca.pem (httpx, Go, Ruby, PHP, .NET)
                   NODE_EXTRA_CA_CERTS=ca.pem (Node)              keytool -importcert -cacerts -file ca.pem (Java)
            Workers on such a machine need the real names: run them elsewhere.
            """
    }

    private static func isAddress(_ text: String) -> Bool {
        var bytes = (UInt64(0), UInt64(0))
        return inet_pton(text.contains(":") ? AF_INET6 : AF_INET, text, &bytes) == 1
    }

    private static func isName(_ text: String) -> Bool {
        let labels = text.split(separator: ".", omittingEmptySubsequences: false)
        return text.utf8.count <= 253
            && labels.allSatisfy { label in
                (1...63).contains(label.utf8.count) && !label.hasPrefix("-") && !label.hasSuffix("-")
                    && label.utf8.allSatisfy { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "-") }
            }
    }
}
