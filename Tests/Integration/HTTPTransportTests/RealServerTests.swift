import EventLoop
import FanfareModel
import FanfareSandbox
import Foundation
import HTTPLanes
import Logging
import Testing

/// Servers that were not made for these tests, over other HTTP/2 libraries than nginx.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct RealServerTests {
    /// Padded frames, trailers, a stream limit of 50, and answers that repeat the request's body.
    @Test(.enabled(if: isInstalled("/usr/sbin/nghttpd")), arguments: TestedEngine.tested)
    func nghttpdServesEachRequestOnce(engine: TestedEngine) throws {
        let pair = try Certificates.shared.get().server
        let server = try ServerProgram("/usr/sbin/nghttpd") { directory, port in
            let options = ["-a", "127.0.0.1", "-d", directory, "-b", "200", "-m", "50", "--trailer", "x-end: 1"]
            return options + ["--echo-upload", "-v", String(port), pair.key, pair.certificate]
        }
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 4 }
        let outcomes = harness.run(500, url: server.url, timeoutMs: 15_000)
        #expect(outcomes.kinds == ["200": 500], "\(outcomes.summary)")
        Self.checkBodies(outcomes) { "body-\($0)" }
        #expect(try server.count(":method: POST", in: "out", expecting: 500) == 500)
    }

    @Test(.enabled(if: isInstalled("/usr/bin/h2o")), arguments: TestedEngine.tested)
    func h2oServesEachRequestOnceAcrossAReload(engine: TestedEngine) throws {
        let server = try Self.h2o()
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 4 }
        #expect(harness.run(500, url: server.url, timeoutMs: 15_000).kinds == ["200": 500])
        let connections = { try server.count(" stream 1.", in: "access.log", expecting: 0) }
        let first = try connections()
        var outcomes: [RequestOutcome] = []
        // Until all of its connections were replaced under load: a new worker takes a moment to start.
        while outcomes.count < 40_000, try outcomes.count < 4_000 || connections() < 2 * first {
            outcomes += harness.run(2_000, url: server.url, timeoutMs: 15_000) { harness in
                if harness.outcomes.count < 6_000 { server.reload() }
            }
        }
        let kinds = outcomes.kinds
        #expect(kinds["200", default: 0] + kinds["refused", default: 0] == outcomes.count, "\(outcomes.summary)")
        #expect(kinds["refused", default: 0] <= outcomes.count / 100)
        let served = 500 + kinds["200", default: 0]
        #expect(try server.count("200 POST", in: "access.log", expecting: served) == served, "\(outcomes.summary)")
        #expect(try connections() >= 2 * first, "no connection was replaced")
    }

    /// SwiftNIO's HTTP/2, in this process.
    @Test(arguments: TestedEngine.tested)
    func sandboxAcceptsEachMessageOnce(engine: TestedEngine) async throws {
        let directory = try makeTemporaryDirectory("sandbox")
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var options = SandboxOptions(stateDirectory: directory, projects: ["demo"])
        options.port = 0
        options.controlPort = 0
        options.xmppPort = 0
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let sandbox = Sandbox(options: options, logger: logger)
        let ports = try await sandbox.start()
        do {
            try Self.sendToSandbox(engine, directory, data: ports.data, control: ports.control)
        } catch {
            await sandbox.stop()
            throw error
        }
        await sandbox.stop()
    }

    private static func sendToSandbox(_ engine: TestedEngine, _ directory: String, data: Int, control: Int) throws {
        let key = try String(contentsOfFile: directory + "/server-key-demo", encoding: .utf8)
        let harness = try PoolHarness(engine: engine) {
            $0.maximumLanes = 4
            $0.caFile = directory + "/ca.pem"
        }
        let authorization = "Authorization: key=" + key.trimmingCharacters(in: .whitespacesAndNewlines)
        harness.headers = ["Content-Type: application/json", authorization]
        harness.makeBody = { #"{"to":"token-\#($0)"}"# }
        let url = "https://localhost:\(data)/fcm/send"
        #expect(harness.run(500, url: url, timeoutMs: 120_000, limitMs: 240_000).kinds == ["200": 500])

        let faults = "http://127.0.0.1:\(control)/faults"
        for action in [#"{"goaway":"NO_ERROR"}"#, #"{"goaway":"ENHANCE_YOUR_CALM"}"#, #"{"refuse_stream":true}"#] {
            let fault = #"{"match":{"path":"/fcm/"},"action":"# + action + #","times":1}"#
            try runTool("curl", ["-sf", "-d", fault, faults])
            let outcomes = harness.run(100, url: url, timeoutMs: 120_000, limitMs: 240_000)
            #expect(outcomes.kinds == ["200": 100], "\(action): \(outcomes.summary)")
        }
        let statistics = directory + "/statistics"
        try runTool("curl", ["-sf", "-o", statistics, "http://127.0.0.1:\(control)/stats"])
        let text = try String(contentsOfFile: statistics, encoding: .utf8)
        #expect(text.contains(#""accepted":800,"#) && text.contains(#""duplicates":0,"#), "\(text)")
    }

    private static func h2o() throws -> ServerProgram {
        let pair = try Certificates.shared.get().server
        return try ServerProgram("/usr/bin/h2o") { directory, port in
            """
            listen:
              host: 127.0.0.1
              port: \(port)
              ssl: {certificate-file: \(pair.certificate), key-file: \(pair.key), ocsp-update-interval: 0}
            pid-file: \(directory)/pid
            error-log: \(directory)/error.log
            access-log: {path: \(directory)/access.log, format: "%s %m stream %{http2.stream-id}x."}
            num-threads: 1
            http2-graceful-shutdown-timeout: 5
            hosts:
              default:
                paths:
                  /:
                    mruby.handler: |
                      Proc.new { |env| [200, {"content-type" => "application/json"}, [env["rack.input"].read]] }
            """
        } arguments: { directory, _ in
            ["-m", "master", "-c", directory + "/conf"]
        }
    }

    /// The outcomes belong to the requests with tags from 1.
    private static func checkBodies(_ outcomes: [RequestOutcome], _ expected: (Int) -> String) {
        for (index, outcome) in outcomes.enumerated() {
            guard case .answered(let answer) = outcome else { continue }
            #expect(String(decoding: answer.body, as: UTF8.self) == expected(index + 1))
        }
    }
}

private func isInstalled(_ path: String) -> Bool { FileManager.default.isExecutableFile(atPath: path) }
