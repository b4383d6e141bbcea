import Foundation
import TestSupport
import Testing

@testable import fanfare

@Suite struct DashboardCommandTests {
    private static let nowhere = ["dashboard", "--redis", "unix:///nowhere/redis.sock"]

    @Test func dashboardStartsBeforeRedisAndStopsOnSIGTERM() async throws {
        let process = CommandRun.process(Self.nowhere + ["--listen", "127.0.0.1:0"])
        let err = makePipe()
        process.standardError = err
        process.standardOutput = FileHandle.nullDevice
        try startProcess(process)
        let line = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(returning: String(decoding: err.fileHandleForReading.availableData, as: UTF8.self))
            }
        }
        let port = try #require(line.firstMatch(of: /dashboard: http:\/\/127\.0\.0\.1:(\d+)/).flatMap { Int($0.1) })
        let page = try runProgram("/usr/bin/curl", ["-s", "--max-time", "60", "http://127.0.0.1:\(port)/"])
        #expect(String(decoding: page, as: UTF8.self).contains("<title>Fanfare</title>"))
        process.terminate()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0 && process.terminationReason == .exit)
    }

    @Test func dashboardRefusesAPublicAddressWithoutAToken() async throws {
        let line = Self.nowhere + ["--listen", "0.0.0.0:0"]
        let none = try await CommandRun(line)
        #expect(none.status == 78 && none.err.contains("so a token is needed"))
        let short = try await CommandRun(line, environment: ["FANFARE_DASHBOARD_TOKEN": "hunter2"])
        #expect(short.status == 78 && short.err.contains("fewer than 16") && !short.err.contains("hunter2"))
        let proxied = try await CommandRun(Self.nowhere + ["--allow-host", "board.example.com"])
        #expect(proxied.status == 78 && proxied.err.contains("token"))
        let missing = try await CommandRun(line + ["--token-file", "/nowhere/token"])
        #expect(missing.status == 78 && missing.err.hasPrefix("fanfare: --token-file: No such file"))
        let scrape = try await CommandRun(Self.nowhere + ["--metrics-token-file", "/nowhere/token"])
        #expect(scrape.status == 78 && scrape.err.hasPrefix("fanfare: --metrics-token-file: No such file"))
        let address = try await CommandRun(Self.nowhere + ["--listen", "nonsense"])
        #expect(address.status == 64)
    }

    @Test func tokenFileMustHoldOneToken() throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let file = folder.file("token")
        try "\u{FEFF}a-token-of-some-length\r\n".write(toFile: file, atomically: false, encoding: .utf8)
        #expect(try DashboardCommand.token(file: file) == "a-token-of-some-length")
        try "\n".write(toFile: file, atomically: false, encoding: .utf8)
        #expect(throws: (any Error).self) { try DashboardCommand.token(file: file) }
        try "two words\n".write(toFile: file, atomically: false, encoding: .utf8)
        #expect(throws: (any Error).self) { try DashboardCommand.token(file: file) }
    }
}
