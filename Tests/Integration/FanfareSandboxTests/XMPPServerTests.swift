import FanfareSandbox
import Foundation
import Testing

/// What the XMPP port does with peers that are no clients. `openssl s_client` carries the bytes.
@Suite struct XMPPServerTests {
    static let header =
        "<?xml version='1.0'?><stream:stream to='gcm.googleapis.com' version='1.0' xmlns='jabber:client' "
        + "xmlns:stream='http://etherx.jabber.org/streams'>"

    /// - Returns: what the server said before it closed.
    private static func talk(_ sandbox: RunningSandbox, _ text: String) async throws -> String {
        try await Command.run(
            "/usr/bin/env",
            [
                "timeout", "20", "openssl", "s_client", "-quiet", "-ign_eof", "-verify_return_error", "-CAfile",
                sandbox.directory + "/ca.pem", "-servername", "fcm-xmpp.googleapis.com", "-verify_hostname",
                "fcm-xmpp.googleapis.com", "-connect", "127.0.0.1:\(sandbox.ports.xmpp)",
            ],
            input: text
        ).output
    }

    @Test func `malformed or unexpected input ends the stream with an error`() async throws {
        let bomb = "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b \"bbbb\"><!ENTITY c \"&b;&b;&b;\">]><a>&c;</a>"
        let header = Self.header
        let table: [(name: String, text: String, word: String)] = [
            ("no XML", "GET / HTTP/1.1\r\n\r\n", "not-well-formed"),
            ("entities", bomb, "not-well-formed"),
            ("a stanza without end", header + "<message>" + String(repeating: "x", count: 200_000), "not-well-formed"),
            ("depth", header + String(repeating: "<a>", count: 100), "not-well-formed"),
            ("a mismatch", header + "<a></b>", "not-well-formed"),
            ("another host", header.replacing("gcm.", with: "example."), "host-unknown"),
            ("another namespace", "<stream to='gcm.googleapis.com' version='1.0'>", "invalid-namespace"),
            ("no authentication", header + "<message/>", "not-authorized"),
            ("text between", header + "hello", "not-well-formed"),
        ]
        try await RunningSandbox.with { sandbox async throws in
            for (name, text, word) in table {
                let reply = try await Self.talk(sandbox, text)
                #expect(reply.contains("<stream:error><\(word) "), "\(name): \(reply)")
                #expect(reply.hasSuffix("</stream:stream>"), "\(name): \(reply)")
            }
            let polite = try await Self.talk(sandbox, Self.header + "  \n</stream:stream>")
            #expect(polite.contains("<mechanism>PLAIN</mechanism>"))
            #expect(polite.hasSuffix("</stream:stream>"))
            #expect(!polite.contains("error"))
            #expect(try await sandbox.legacy(#"{"to":"t"}"#).status == 200)
        }
    }
}
