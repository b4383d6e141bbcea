import FanfareDashboard
import FanfarePages
import Foundation
import TestSupport
import Testing

/// The Runbook as the dashboard serves it.
@Suite struct RunbookPageTests {
    private static let folder = Repository.root.appendingPathComponent("Sources/Documentation/Fanfare.docc")

    /// A new page needs its name in Package.swift and in `RunbookPages`.
    @Test func everyPageOfTheRunbookIsServed() async throws {
        let files = try FileManager.default.contentsOfDirectory(
            atPath: Self.folder.appendingPathComponent("Runbook").path
        )
        #expect(RunbookPages.names == files.map { String($0.dropLast(3)) }.sorted())
        try await withDashboard { bench in
            for name in RunbookPages.names {
                let file = Self.folder.appendingPathComponent("Runbook/\(name).md")
                let reply = try await bench.web.get("/api/runbook/\(name)")
                let text = try String(contentsOf: file, encoding: .utf8)
                #expect(reply.status == 200 && reply.json["text"] as? String == text)
            }
            let overview = try await bench.web.get("/api/runbook")
            #expect((overview.json["text"] as? String)?.hasPrefix("# Runbook\n") == true)
            #expect(try await bench.web.get("/api/runbook/FanfareNothing").status == 404)
        }
    }

    @Test func runbookNeedsTheToken() async throws {
        try await withDashboard({ $0.token = "a-token-of-some-length" }) { bench in
            let status = try await bench.web.get("/api/runbook/FanfareNoWorkers").status
            #expect(status == 401)
        }
    }
}
