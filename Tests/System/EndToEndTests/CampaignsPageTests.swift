import Foundation
import TestSupport
import Testing

/// Runs the first campaign of the page Campaigns as it stands there, in a network of its own, in which its ports are free.
@Suite struct CampaignsPageTests {
    /// A network of its own needs it.
    static let isRoot = getuid() == 0

    @Test(.enabled(if: isRoot, "needs root")) func firstCampaignEndsAsThePageSays() async throws {
        let page = Repository.root.appendingPathComponent("Sources/Documentation/Fanfare.docc/Campaigns.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let blocks = text.matches(of: /```([a-z]+)\n((?:.*\n)*?)```/).filter { $0.1 == "sh" }
        try #require(blocks.count == 1)
        let redis = try RedisServer()
        defer { redis.stop() }
        let folder = try TemporaryFolder()
        let command = try folder.write("fanfare", "#!/bin/sh\nexec '\(ChildProcess.executable.path)' \"$@\"\n")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: command)
        _ = try folder.write("campaign.sh", String(blocks[0].2))
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        // The sandbox and the worker end with the script, which is the first process of their namespace.
        let process = try ChildProcess(
            [
                "--net", "--pid", "--mount-proc", "--fork", "--kill-child", "sh", "-c",
                "cd '\(folder.path)' && ip link set lo up && exec sh campaign.sh",
            ],
            environment: ["PATH": "\(folder.path):\(path)", "REDIS_URL": "unix://\(redis.socketPath)"],
            executable: URL(fileURLWithPath: "/usr/bin/unshare")
        )
        let status = try await process.wait(seconds: 120)
        let logs = ["check", "sandbox", "worker"].map {
            (try? String(contentsOfFile: folder.file("\($0).log"), encoding: .utf8)) ?? ""
        }
        #expect(status == 0, "\(process.stderr)\n\(logs)")
        // The preview, the job after its canary, its resumption and the failed recipient.
        for words in ["Hola Ana", "Tienes 120 puntos", "canary", "resumed", "sbx-unregistered-1"] {
            #expect(process.stdout.contains(words), "\(words): \(process.stdout)\n\(process.stderr)\n\(logs)")
        }
        let end = try redis.cli("HMGET", "fanfare:{my-app}:job:summer", "state", "sent", "failed", "canary", "stop_if")
        #expect(end == "done\n99\n1\n10\nfailed>5%", "\(end)\n\(logs)")
    }
}
