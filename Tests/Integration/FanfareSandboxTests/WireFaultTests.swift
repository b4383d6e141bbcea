import FanfareJSON
import FanfareSandbox
import Testing

/// Each fault as curl sees it, and what became of the message.
@Suite struct WireFaultTests {
    struct Row: Sendable {
        var action: String
        var option: String
        /// curl's exit codes that fit; 0 alone for a request that succeeds in the end.
        var exitCodes: Set<Int32>
        var accepted: Int64
    }

    static let rows = [
        Row(action: #"{"reset":"CANCEL"}"#, option: "--http2", exitCodes: [92], accepted: 0),
        // curl itself sends again what was refused.
        Row(action: #"{"refuse_stream":true}"#, option: "--http2", exitCodes: [0], accepted: 1),
        Row(action: #"{"close":true}"#, option: "--http2", exitCodes: [16, 18, 52, 55, 56, 92], accepted: 0),
        Row(action: #"{"close":true}"#, option: "--http1.1", exitCodes: [52, 56], accepted: 0),
        Row(action: #"{"reset":"CANCEL"}"#, option: "--http1.1", exitCodes: [52, 56], accepted: 0),
        Row(action: #"{"truncate":5}"#, option: "--http1.1", exitCodes: [18, 56], accepted: 1),
        Row(action: #"{"truncate":5}"#, option: "--http2", exitCodes: [18, 92], accepted: 1),
        Row(action: #"{"max_concurrent_streams":1}"#, option: "--http2", exitCodes: [0], accepted: 1),
    ]

    @Test(arguments: rows)
    func `each wire fault has its effect over HTTP 1 and HTTP 2`(row: Row) async throws {
        try await RunningSandbox.with { sandbox async throws in
            let fault = #"{"match":{"path":"/fcm/"},"action":"# + row.action + #","times":1}"#
            #expect(try await sandbox.control("POST", "/faults", fault).status == 200)
            let reply = try await sandbox.legacy(#"{"to":"t"}"#, options: [row.option])
            #expect(row.exitCodes.contains(reply.exitCode), "curl exited with \(reply.exitCode)")
            #expect(try await sandbox.statistic("accepted") == row.accepted)
            // The server is none the worse for it.
            #expect(try await sandbox.legacy(#"{"to":"t"}"#, options: [row.option]).status == 200)
        }
    }

    @Test func `a GOAWAY refuses the request and ends the connection`() async throws {
        try await RunningSandbox.with { sandbox async throws in
            try await sandbox.control("POST", "/faults", #"{"action":{"goaway":"NO_ERROR"},"times":1}"#)
            let reply = try await sandbox.legacy(#"{"to":"t"}"#)
            // A curl that retries gets its answer on a second connection; an older one gives up.
            #expect(try await sandbox.statistic("accepted") == (reply.exitCode == 0 ? 1 : 0))
            #expect(try await sandbox.legacy(#"{"to":"u"}"#).status == 200)
        }
    }

    @Test func `a message with a lost answer is delivered`() async throws {
        try await RunningSandbox.with { sandbox async throws in
            #expect(try await sandbox.legacy(#"{"to":"sbx-lost-1-a"}"#).exitCode == 92)
            #expect(try await sandbox.legacy(#"{"to":"sbx-lost-1-a"}"#).status == 200)
            #expect(try await sandbox.statistic("duplicates") == 1)
            #expect(
                try await sandbox.control("GET", "/deliveries?token=sbx-lost-1-a").body.split(separator: "\n").count
                    == 2
            )
        }
    }

    @Test func `a slow token's answer is delayed`() async throws {
        try await RunningSandbox.with { sandbox async throws in
            let clock = ContinuousClock()
            let start = clock.now
            #expect(try await sandbox.legacy(#"{"to":"sbx-slow-300-a"}"#).status == 200)
            #expect(clock.now - start >= .milliseconds(300))
        }
    }

    @Test func `a fault's status and headers reach the client`() async throws {
        try await RunningSandbox.with { sandbox async throws in
            let date = "Sun, 06 Nov 2033 08:49:37 GMT"
            try await sandbox.control(
                "POST",
                "/faults",
                #"{"action":{"status":503,"retry_after":"\#(date)"},"times":1}"#
            )
            let reply = try await sandbox.legacy(#"{"to":"t"}"#)
            #expect(reply.status == 503)
            #expect(reply.headers["retry-after"] == date)
            #expect(try await sandbox.control("POST", "/nothing", "{}").status == 404)
        }
    }
}
