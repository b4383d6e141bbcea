import FanfareSandbox
import Foundation
import Testing

/// The load client of nghttp2, which keeps hundreds of requests open over a few connections.
@Suite struct LoadClientTests {
    @Test(arguments: [["-m", "50"], ["-m", "1"], ["--h1", "-m", "1"], ["-w", "16", "-W", "16", "-m", "100"]])
    func everyRequestIsAnswered(options: [String]) async throws {
        try await RunningSandbox.with { sandbox async throws in
            let key = try sandbox.file("server-key-demo")
            let body = sandbox.directory + "/body.json"
            try #"{"to":"token","data":{"a":"\#(String(repeating: "x", count: 3_000))"}}"#
                .write(toFile: body, atomically: true, encoding: .utf8)
            let (requests, clients) = (2_000, 20)
            let result = try await Command.run(
                "/usr/bin/h2load",
                ["-n", "\(requests)", "-c", "\(clients)"] + options + [
                    "-d", body, "-H", "Authorization: key=\(key)", "-H", "Content-Type: application/json",
                    "https://localhost:\(sandbox.ports.data)/fcm/send",
                ]
            )
            let counts =
                "\(requests) total, \(requests) started, \(requests) done, \(requests) succeeded, 0 failed, 0 errored"
            #expect(result.exitCode == 0 && result.output.contains(counts), "\(result.output)")
            #expect(result.output.contains("status codes: \(requests) 2xx, 0 3xx, 0 4xx, 0 5xx"))
        }
    }
}
