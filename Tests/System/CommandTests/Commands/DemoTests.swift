import Foundation
import Testing

@testable import fanfare

@Suite(.serialized) struct DemoTests {
    /// Starts the demo and returns its folder.
    private func start(_ tokens: Int) async throws -> (process: Process, folder: String) {
        let process = CommandRun.process(["demo", "--tokens", "\(tokens)"])
        let err = Pipe()
        process.standardError = err
        process.standardOutput = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let line = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                var text = Data()
                while !text.contains(UInt8(ascii: "\n")) {
                    let more = err.fileHandleForReading.availableData
                    if more.isEmpty { break }
                    text.append(more)
                }
                // Read on, so that the demo never waits for a reader.
                err.fileHandleForReading.readabilityHandler = {
                    if $0.availableData.isEmpty { $0.readabilityHandler = nil }
                }
                continuation.resume(returning: String(decoding: text, as: UTF8.self))
            }
        }
        let url = try #require(line.split(separator: "\n").first?.split(separator: " ").last)
        #expect(url.hasPrefix("unix://"))
        return (process, String(url.dropFirst(7).dropLast("/redis.sock".count)))
    }

    private func isGone(_ folder: String, within seconds: Double) async throws -> Bool {
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
            if !FileManager.default.fileExists(atPath: folder) { return true }
            try await Task.sleep(for: .milliseconds(50))
        }
        return false
    }

    @Test(.timeLimit(.minutes(3))) func demoGivesEveryRecipientTheExpectedResult() async throws {
        let run = try await CommandRun(["demo", "--tokens", "1000"])
        #expect(run.status == 0, "\(run.out)\(run.err)")
        #expect(run.out.contains("Every recipient ended as it should."))
        #expect(run.out.contains("failed  UNREGISTERED            remove                   20"))
        #expect(!run.err.contains("\u{1B}"))
        let folder = try #require(run.err.split(separator: "\n").first?.split(separator: " ").last?.dropFirst(7))
        #expect(!FileManager.default.fileExists(atPath: String(folder.dropLast("/redis.sock".count))))
    }

    @Test(.timeLimit(.minutes(2)), arguments: [SIGINT, SIGTERM])
    func interruptedDemoRemovesItsFolder(signal: Int32) async throws {
        let (process, folder) = try await start(100_000)
        #expect(FileManager.default.fileExists(atPath: folder))
        kill(process.processIdentifier, signal)
        #expect(try await isGone(folder, within: 60))
        process.waitUntilExit()
        #expect(process.terminationStatus == 1)
    }

    @Test(.timeLimit(.minutes(2))) func killedDemoRemovesItsFolder() async throws {
        let (process, folder) = try await start(100_000)
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        #expect(try await isGone(folder, within: 30))
    }
}
