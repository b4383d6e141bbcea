import CurlTransport
import EventLoop
import Foundation
import HTTPLanes
import Testing

/// A real server that ends its connections often.
@Suite(
    .serialized,
    .timeLimit(.minutes(10)),
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/sbin/nginx"))
)
struct NginxTests {
    @Test(arguments: TestedEngine.tested, [5, 100])
    func shortConnectionsLoseAndRepeatNothing(engine: TestedEngine, keepalive: Int) throws {
        let nginx = try Self.nginx(keepaliveRequests: keepalive)
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 4 }
        let outcomes = harness.run(500, url: nginx.url, timeoutMs: 15_000)
        let kinds = outcomes.kinds
        #expect(kinds["200", default: 0] + kinds["refused", default: 0] == 500, "\(outcomes.summary)")
        // A request that meets three ends in a row comes back as refused, which is safe to send again.
        if keepalive == 100 { #expect(kinds["refused", default: 0] <= 25) }
        let answered = kinds["200", default: 0]
        #expect(try nginx.count("\" 200 ", in: "access.log", expecting: answered) == answered, "\(outcomes.summary)")
    }

    @Test(arguments: TestedEngine.tested) func reloadUnderLoadLosesAndRepeatsNothing(engine: TestedEngine) throws {
        let nginx = try Self.nginx(keepaliveRequests: 1_000)
        let harness = try PoolHarness(engine: engine) { $0.maximumLanes = 4 }
        let outcomes = harness.run(8_000, url: nginx.url, timeoutMs: 15_000) { harness in
            for at in [30, 200, 400] as [Int64] {
                harness.loop.schedule(afterMilliseconds: at) { nginx.reload() }
            }
        }
        let kinds = outcomes.kinds
        #expect(kinds["200", default: 0] + kinds["refused", default: 0] == 8_000, "\(outcomes.summary)")
        #expect(kinds["refused", default: 0] <= 80)
        let answered = kinds["200", default: 0]
        #expect(try nginx.count("\" 200 ", in: "access.log", expecting: answered) == answered, "\(outcomes.summary)")
    }

    /// nginx with a canned answer, and a log line for each request it served.
    private static func nginx(keepaliveRequests: Int) throws -> ServerProgram {
        let pair = try Certificates.shared.get().server
        let program = try ServerProgram("/usr/sbin/nginx") { directory, port in
            """
            daemon off; master_process on; worker_processes 1; pid \(directory)/pid; error_log \(directory)/error.log;
            events { worker_connections 4096; }
            http {
                access_log off;
                client_body_temp_path \(directory)/body; proxy_temp_path \(directory)/proxy;
                server {
                    listen 127.0.0.1:\(port) ssl http2;
                    ssl_certificate \(pair.certificate); ssl_certificate_key \(pair.key);
                    keepalive_requests \(keepaliveRequests); http2_max_concurrent_streams 128;
                    # A proxy answers only once it has the whole body; `return` would answer the headers alone.
                    location / { access_log \(directory)/access.log; proxy_pass http://unix:\(directory)/inner; }
                }
                server {
                    listen unix:\(directory)/inner;
                    location / { default_type application/json; return 200 '{"name":"n"}'; }
                }
            }
            """
        } arguments: { directory, _ in
            ["-p", directory, "-c", directory + "/conf"]
        }
        // It listens before it writes its process id, and takes signals after that.
        let deadline = Date(timeIntervalSinceNow: 10)
        while !program.exists("pid"), Date() < deadline { usleep(2_000) }
        return program
    }
}
