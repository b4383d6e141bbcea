import Foundation
import Testing

/// A worker whose limit of open files is far below what its projects could use.
@Suite struct OpenFilesTests {
    private static let projects = (1...12).map { "p\($0)" }

    /// Idle connections of one project are closed for another one.
    @Test(arguments: ["curl", "nghttp2"])
    func jobsOfAllProjectsEndUnderALowLimitOfOpenFiles(engine: String) async throws {
        try await withRig(projects: Self.projects) { rig in
            try await rig.startSandbox()
            let configuration = try rig.configuration(extra: "http_engine: \(engine)")
            let worker = try await rig.startWorker(configuration, fileLimit: 64)
            for round in 1...2 {
                for project in Self.projects {
                    let fields = [
                        "id": "j\(round)", "message": #"{"data":{"k":"v"}}"#, "token": "token-\(project)-\(round)",
                    ]
                    try await rig.push(fields, in: project)
                }
                for project in Self.projects {
                    let job = try await rig.finished("j\(round)", in: project, seconds: 120)
                    #expect(job["sent"] == "1", "\(project): \(job)\n\(rig.logs)")
                }
            }
            #expect(worker.isRunning)
        }
    }
}
