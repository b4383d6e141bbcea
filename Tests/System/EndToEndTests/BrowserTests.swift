import Foundation
import TestSupport
import Testing

/// The dashboard in Chromium, if it is installed; `ops/dev/browser` installs it.
@Suite struct BrowserTests {
    private static let tools = [
        "/usr/bin/chromium", "/usr/bin/chromedriver", "/usr/lib/python3/dist-packages/selenium",
    ]
    private static let isInstalled = tools.allSatisfy { FileManager.default.fileExists(atPath: $0) }

    @Test(.enabled(if: isInstalled, "Chromium is not installed; run ops/dev/browser"), .timeLimit(.minutes(10)))
    func dashboardWorksInChromium() async throws {
        let script = Repository.root
            .appendingPathComponent("Tests/System/Browser/dashboard.py").path
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        process.arguments = ["-B", script, ChildProcess.executable.path, "--shots", folder.path]
        let log = folder.file("log")
        _ = FileManager.default.createFile(atPath: log, contents: nil)
        process.standardOutput = FileHandle(forWritingAtPath: log)
        process.standardError = FileHandle(forWritingAtPath: log)
        try startProcess(process)
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                process.waitUntilExit()
                continuation.resume()
            }
        }
        let text = try String(contentsOfFile: log, encoding: .utf8)
        #expect(process.terminationStatus == 0, "\(text)")
        #expect(text.contains("checks held"))
    }
}
