import Foundation
import TestSupport
import Testing

/// A private authority and server certificates, made with the openssl command once for a test run.
struct Certificates: Sendable {
    let directory: String
    var authority: String { directory + "/ca.pem" }

    struct Pair: Sendable {
        let certificate: String
        let key: String
    }

    /// Names 127.0.0.1 and localhost.
    var server: Pair { pair("server") }
    /// Of the same authority, for another host.
    var otherName: Pair { pair("other") }
    /// Of the same authority, past its end.
    var expired: Pair { pair("expired") }

    static let shared = Result { try Certificates() }

    private init() throws {
        directory = try makeTemporaryDirectory("certificates")
        try run("openssl", "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test-ca")
        try issue("server", names: "DNS:localhost,IP:127.0.0.1", days: "2")
        try issue("other", names: "DNS:elsewhere.test", days: "2")
        try issue("expired", names: "DNS:localhost,IP:127.0.0.1", days: nil)
    }

    private func pair(_ name: String) -> Pair {
        Pair(certificate: "\(directory)/\(name).pem", key: "\(directory)/\(name).key")
    }

    private func run(_ tool: String, _ arguments: String) throws {
        let all = arguments.split(separator: " ").map(String.init)
        try runTool(tool, all + ["-keyout", directory + "/ca.key", "-out", authority])
    }

    /// - Parameter days: how long it is valid; nil for a certificate of the year 2020.
    private func issue(_ name: String, names: String, days: String?) throws {
        let base = "\(directory)/\(name)"
        let request = "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=\(name)"
        try runTool(
            "openssl",
            request.split(separator: " ").map(String.init) + ["-keyout", base + ".key", "-out", base + ".csr"]
        )
        try Data("subjectAltName=\(names)\n".utf8).write(to: URL(fileURLWithPath: base + ".ext"))
        let files = ["-in", base + ".csr", "-extfile", base + ".ext", "-out", base + ".pem"]
        let key = directory + "/ca.key"
        if let days {
            let sign = ["x509", "-req", "-CA", authority, "-CAkey", key, "-days", days]
            try runTool("openssl", sign + files)
        } else {
            // `x509` of OpenSSL 3.5 takes no time in the past.
            let past = ["-startdate", "20200101000000Z", "-enddate", "20200102000000Z"]
            let sign = ["ca", "-config", try configuration(), "-batch", "-notext", "-cert", authority, "-keyfile", key]
            try runTool("openssl", sign + past + files)
        }
    }

    /// What the command `ca` needs: an index, which is empty, and the rule that a subject has a name.
    private func configuration() throws -> String {
        try Data().write(to: URL(fileURLWithPath: directory + "/index"))
        let text = """
            [ca]
            default_ca = all
            [all]
            database = \(directory)/index
            new_certs_dir = \(directory)
            rand_serial = yes
            default_md = sha256
            policy = subject
            [subject]
            commonName = supplied

            """
        let file = directory + "/ca.conf"
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        return file
    }
}

func makeTemporaryDirectory(_ name: String) throws -> String {
    let path = NSTemporaryDirectory() + "fanfare-\(name)-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
}

func runTool(_ tool: String, _ arguments: [String]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [tool] + arguments
    process.standardError = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    try startProcess(process)
    process.waitUntilExit()
    try #require(process.terminationStatus == 0, "\(tool) \(arguments) failed")
}
