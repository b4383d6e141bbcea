internal import Foundation

/// Google's firebase-admin for Python as it comes: `Rivals/python`.
enum FirebaseRival {
    /// nil, with a note, where it is not installed.
    static func contender(
        _ options: Options,
        sink: Sink,
        certificates: Certificates,
        in workspace: Workspace,
        notes: inout [String]
    ) throws -> LoopRival? {
        guard let python = RivalFolder.python, let sources = RivalFolder.sources("python") else {
            notes.append("firebase-admin is missing and left out: Benchmarks/setup installs it")
            return nil
        }
        let asking =
            "import firebase_admin, httpx, h2, platform; print(firebase_admin.__version__, platform.python_version())"
        let version = try Child("python-version", python, ["-W", "ignore", "-c", asking], in: workspace)
        guard (try? version.finish(seconds: 60)) != nil else {
            notes.append("firebase-admin is left out, \(python) cannot load it: Benchmarks/setup installs it")
            return nil
        }
        let versions = workspace.read(version.outputFile).split { $0 == " " || $0 == "\n" }.joined(
            separator: ", Python "
        )
        return LoopRival(
            name: "firebase-admin",
            summary: "send_each_for_multicast_async (\(versions)), 500 tokens a call, a fiftieth of the sends",
            command: [python, "-W", "ignore", "\(sources)/firebase_admin_loop.py"],
            sink: sink,
            workspace: workspace,
            limitSeconds: options.limitSeconds,
            share: 0.02
        ) { sends in
            let message = try JSONSerialization.jsonObject(with: Data(Payload.message.utf8))
            let job: [String: Any] = [
                "url": sink.sendURL, "authority": certificates.authority, "account": sink.target.credentials,
                "message": message, "tokens": (0..<sends).map(Payload.token), "warmUp": 500,
            ]
            return try JSONSerialization.data(withJSONObject: job)
        }
    }
}
