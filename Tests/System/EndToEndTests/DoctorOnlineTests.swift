import Foundation
import TestSupport
import Testing

/// `fanfare doctor`: its checks of a running fleet and of the route to FCM.
@Suite struct DoctorOnlineTests {
    private struct Report: Decodable {
        struct Check: Decodable {
            var check: String
            var verdict: String
            var text: String
            var remedy: String?
        }
        var ok: Bool
        var checks: [Check]

        func findings(_ name: String) -> [Check] { checks.filter { $0.check == name } }
    }

    private func doctor(_ file: String, _ options: [String] = []) async throws -> Report {
        let run = try ChildProcess(["doctor", "-c", file, "--json"] + options)
        let status = try await run.wait(seconds: 60)
        let report = try JSONDecoder().decode(Report.self, from: Data(run.stdout.utf8))
        #expect(report.ok == (status == 0) && (status == 0 || status == 1), "\(run.stderr)")
        return report
    }

    @Test func doctorReportsAWorkingFleetAsOK() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let file = try rig.configuration()
            let worker = try await rig.startWorker(file)
            // The version comes with the first renewal of the lease.
            try await Wait.until("doctor to see the worker's version") {
                try await doctor(file, ["--no-online"]).findings("workers").first?.text.hasPrefix("1 alive, version ")
                    == true
            }
            let report = try await doctor(file)
            #expect(report.findings("token of demo").map(\.verdict) == ["ok"], "\(report)")
            #expect(report.findings("FCM of demo").map(\.verdict) == ["ok"], "\(report)")
            #expect(report.findings("project demo").map(\.verdict) == ["ok"], "\(report)")
            #expect(report.findings("workers").first?.text.hasPrefix("1 alive, version ") == true, "\(report)")
            #expect(try await rig.deliveries("fanfare-doctor").isEmpty, "the trial message is not delivered")
            worker.signal(SIGTERM)
        }
    }

    @Test func doctorReportsWhyFCMRefusesAndTheFix() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let denied = #"{\"error\":{\"code\":403,\"status\":\"PERMISSION_DENIED\",\"message\":\"denied\"}}"#
            let fault = try await rig.addFault(
                #"{"match":{"path":"/v1/"},"action":{"status":403,"body":"\#(denied)"}}"#
            )
            let file = try rig.configuration()
            let refused = try await doctor(file).findings("FCM of demo")
            #expect(refused.first?.verdict == "fail" && refused.first?.remedy?.contains("role") == true, "\(refused)")
            _ = try await rig.control("DELETE", "/faults?id=\(fault)")

            // Without the sandbox's certificate authority, its certificates are not trusted.
            let text = try String(contentsOfFile: file, encoding: .utf8)
            let lines = text.split(separator: "\n").filter { !$0.hasPrefix("tls:") }
            try lines.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
            let unknown = try await doctor(file).findings("token of demo")
            #expect(
                unknown.first?.verdict == "fail" && unknown.first?.remedy?.contains("tls.ca_file") == true,
                "\(unknown)"
            )
        }
    }

    @Test func doctorNamesTheProjectOfAnotherProjectsCredential() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let file = try rig.configuration()
            let text = try String(contentsOfFile: file, encoding: .utf8)
            let other = text.replacingOccurrences(of: "  demo:", with: "  other:")
            #expect(other != text, "\(text)")
            try other.write(toFile: file, atomically: true, encoding: .utf8)
            let report = try await doctor(file)
            let warning = report.findings("credentials of other").first
            #expect(warning?.verdict == "warn" && warning?.text.contains("of project demo: ") == true, "\(report)")
            #expect(warning?.remedy?.contains("rename the project to demo") == true, "\(report)")
            let sent = report.findings("FCM of other").first?.text
            #expect(sent?.hasPrefix("the credential may send for project demo (HTTP ") == true, "\(report)")
        }
    }

    @Test(arguments: ["legacy", "xmpp"])
    func doctorChecksTheLegacyAndXMPPEndpoints(transport: String) async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let settings = transport == "xmpp" ? try rig.xmppSettings : ""
            let file = try rig.configuration(transport: transport, project: settings)
            let name = transport == "xmpp" ? "XMPP of demo" : "FCM of demo"
            let found = try await doctor(file).findings(name)
            #expect(found.map(\.verdict) == ["ok"] && found[0].text.contains("verified TLS"), "\(found)")
            #expect(found.first?.text.contains("the server key") == true, "\(found)")
            #expect(try await rig.deliveries("fanfare-doctor").isEmpty, "the trial message is not delivered")
            let wrong = try rig.configuration(
                transport: transport,
                endpoint: "https://localhost:1",
                project: settings.replacingOccurrences(of: "port: \(rig.xmppPort)", with: "port: 1")
            )
            let lost = try await doctor(wrong).findings(name)
            #expect(lost.map(\.verdict) == ["fail"] && lost[0].remedy?.contains("firewall") == true, "\(lost)")
            let names = lost.first?.remedy?.contains("set `proxy` (HTTPS_PROXY has no effect)")
            #expect(names == (transport == "legacy"), "XMPP uses no proxy: \(lost)")
        }
    }

    @Test(arguments: ["legacy", "xmpp"])
    func doctorReportsAServerKeyThatFCMRefuses(transport: String) async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let key = rig.state.appendingPathComponent("server-key-demo")
            let wrong = String(try String(contentsOf: key, encoding: .utf8).reversed())
            let settings = transport == "xmpp" ? try rig.xmppSettings : ""
            let file = try rig.configuration(transport: transport, project: settings)
            try wrong.write(to: key, atomically: true, encoding: .utf8)
            let report = try await doctor(file)
            let found = report.findings(transport == "xmpp" ? "XMPP of demo" : "FCM of demo")
            #expect(!report.ok && found.map(\.verdict) == ["fail"], "\(report)")
            #expect(found.first?.text.contains("nothing can be sent") == true, "\(found)")
            #expect(found.first?.remedy?.contains("server_key_file") == true, "\(found)")
            let secret = wrong.trimmingCharacters(in: .whitespacesAndNewlines)
            #expect(report.checks.allSatisfy { !"\($0)".contains(secret) }, "no finding shows the key")
        }
    }

    /// nghttp2 cannot send to an endpoint without HTTP/2; libcurl can.
    @Test(arguments: ["v1", "legacy"], ["h2", "http/1.1"])
    func endpointWithoutHTTP2IsAFailureForNghttp2(transport: String, protocols: String) async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let peer = try HTTPPeer(
                certificate: rig.state.appendingPathComponent("tls-cert.pem").path,
                key: rig.state.appendingPathComponent("tls-key.pem").path,
                // The legacy protocol's answer to a message.
                rules: #"[{"action":"answer","status":200,"path":"/fcm/","#
                    + #""headers":{"content-type":"application/json"},"body":"{\"multicast_id\":1,"#
                    + #"\"success\":1,\"failure\":0,\"results\":[{\"message_id\":\"0:1\"}]}"}]"#,
                protocols: protocols
            )
            func findings(_ engine: String) async throws -> [Report.Check] {
                let file = try rig.configuration(
                    transport: transport,
                    endpoint: "https://localhost:\(peer.port)",
                    extra: "http_engine: \(engine)"
                )
                let report = try await doctor(file)
                let named = report.findings("http_engine of demo").map { $0.text.prefix { $0 != " " } }
                #expect(named == [engine[...]], "\(report)")
                return report.findings("FCM of demo")
            }
            let (curl, nghttp2) = (try await findings("curl"), try await findings("nghttp2"))
            guard protocols == "http/1.1" else {
                return #expect((curl + nghttp2).map(\.verdict) == ["ok", "ok"], "\(curl) \(nghttp2)")
            }
            #expect(curl.map(\.verdict) == ["ok", "warn"], "\(curl)")
            #expect(nghttp2.map(\.verdict) == ["ok", "fail"], "\(nghttp2)")
            #expect(nghttp2.last?.text.contains("http_engine nghttp2 speaks HTTP/2 only") == true, "\(nghttp2)")
            #expect(nghttp2.last?.remedy?.hasPrefix("set `http_engine: curl`") == true, "\(nghttp2)")
        }
    }

    /// XMPP never uses the configured proxy; HTTP does.
    @Test func proxyIsUsedForHTTPOnly() async throws {
        try await withRig { rig in
            try await rig.startSandbox()
            let proxy = "proxy: http://127.0.0.1:1"
            let direct = try rig.configuration(transport: "xmpp", project: try rig.xmppSettings, extra: proxy)
            #expect(try await doctor(direct).findings("XMPP of demo").map(\.verdict) == ["ok"])
            let proxied = try await doctor(try rig.configuration(transport: "legacy", extra: proxy))
            let found = proxied.findings("FCM of demo")
            #expect(found.map(\.verdict) == ["fail"] && found[0].remedy?.contains("proxy") == true, "\(found)")
            let closed = (try rig.xmppSettings).replacingOccurrences(of: "port: \(rig.xmppPort)", with: "port: 1")
            let lost = try await doctor(try rig.configuration(transport: "xmpp", project: closed, extra: proxy))
            let remedy = lost.findings("XMPP of demo").first?.remedy
            #expect(remedy?.contains("XMPP uses no proxy and needs outbound 1") == true, "\(lost)")
        }
    }
}
